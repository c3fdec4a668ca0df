/**
 * A request that comes again has its effect once and is given its first answer (reliability 2.e).
 *
 * What was decided is remembered in the room and journaled with the change itself, so that the next owner knows it, too. Whoever asks again
 * waits until that is durable. A refusal is not remembered: nothing has happened, so the next attempt is judged anew. A version of the history is
 * remembered when it is kept (`history.ts`).
 */
import { AppError } from '../base/errors.ts';
import type { RequestKey } from '../base/ids.ts';
import { versionIdOf } from './history.ts';
import type { Command, Effect, RoomState } from './shapes.ts';
import { decideStorageNodes, initializedText } from './storage/decide.ts';
import { LINES, piecesOf } from './storage/texts.ts';

interface Request {
  readonly request: RequestKey;
  readonly nowMs: number;
  /** Decides the command as if it had not come before. */
  readonly decideAnew: () => Effect[];
}

/** @throws AppError IDEMPOTENCY_KEY_REUSED when the request came before and asked for something else; what `decideAnew` throws */
export function decideOnce(room: RoomState, command: Command, { request, nowMs, decideAnew }: Request): Effect[] {
  const known = room.requests.find(request.id, nowMs);
  if (known === null) {
    const effects = decideAnew();
    return command.type === 'history.keep' ? effects : remember(room, effects, { command, request, atMs: nowMs });
  }
  if (known.digest !== request.digest) throw new AppError('IDEMPOTENCY_KEY_REUSED');
  return answerAgain(room, command, { request, atMs: known.atMs, kept: known.answer });
}

interface Decided {
  readonly command: Command;
  readonly request: RequestKey;
  readonly atMs: number;
}

function remember(room: RoomState, effects: Effect[], { command, request, atMs }: Decided): Effect[] {
  const { id, digest } = request;
  const record = { kind: 'request', id, digest, atMs, answer: answerToKeep(command, effects) } as const;
  room.requests.add(record);
  room.version += 1;
  return [...effects.map(onceDurable), { type: 'journal', record }];
}

/** Who is told "done" may forget the request, so it must be remembered here by then. */
function onceDurable(effect: Effect): Effect {
  return effect.type === 'reply' && effect.when === 'now' ? { ...effect, when: 'durable' } : effect;
}

/** What of an answer cannot be found again in the command or in the room. */
function answerToKeep(command: Command, effects: readonly Effect[]): string | null {
  const value = effects.find((effect) => effect.type === 'reply')?.value;
  switch (command.type) {
    case 'storage.nodes':
      return JSON.stringify((value as { actor: number }).actor);
    case 'storage.send':
      return JSON.stringify(value);
    default:
      return null;
  }
}

interface Known {
  readonly request: RequestKey;
  readonly atMs: number;
  /** What was kept of the answer. */
  readonly kept: string | null;
}

/** The first answer, once it is durable. Of `storage.nodes` the number is the first one; the nodes are those of now, for they are there to be edited. */
function answerAgain(room: RoomState, command: Command, { request, atMs, kept }: Known): Effect[] {
  switch (command.type) {
    case 'storage.initialize':
      return [reply(initializedText(command))];
    case 'storage.nodes':
      if (kept === null) return decideStorageNodes(room);
      return [reply({ actor: JSON.parse(kept), lines: piecesOf(room.storage, LINES) })];
    case 'history.keep':
      return [reply({ id: versionIdOf(request, atMs) })];
    case 'storage.send':
      return [reply(kept === null ? { ops: [] } : JSON.parse(kept))]; // too much to keep: the answer is then only that it happened
    default:
      return [reply(null)];
  }
}

function reply(value: unknown): Effect {
  return { type: 'reply', value, when: 'durable' };
}
