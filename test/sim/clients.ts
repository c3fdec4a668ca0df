/**
 * Clients over REST: each reads and edits, one request after the other, through any worker, and sends a request that went unanswered
 * again, with the same id.
 */
import { AppError, type ErrorCode } from '../../src/base/errors.ts';
import { asRoomId, type RequestKey } from '../../src/base/ids.ts';
import type { Pieces } from '../../src/base/pieces.ts';
import { OP } from '../../src/protocol/storage-ops.ts';
import type { Command } from '../../src/room/shapes.ts';
import type { Audit, Edit, Sight } from './audit.ts';
import { drawingOf, drawingWith, LIST_ID, sightOf, TEXT_ID, tokensOfDrawing } from './rooms.ts';
import type { Cluster, Life } from './workers.ts';
import type { World } from './world.ts';

export type Outcome =
  | { readonly is: 'answer'; readonly value: unknown }
  | { readonly is: 'refusal'; readonly error: AppError }
  | { readonly is: 'silence' };

/** After these a request may be sent again at once: nothing has happened (the router's promise). */
const NOTHING_HAPPENED = new Set([
  'ROOM_QUARANTINED',
  'ROOM_MOVED',
  'WORKER_UNREACHABLE',
  'ROOM_OVERLOADED',
  'WORKER_OVERLOADED',
  'DATABASE_UNAVAILABLE',
  'SERVER_STOPPING',
  'NO_ANSWER',
]);

export const READ: Command = { type: 'storage.read', format: 'json', typeKey: 'liveblocksType' };
const READ_DRAWING: Command = { type: 'ydoc.read', guid: '' };

/** What all clients of a run share. */
export interface Scene {
  readonly world: World;
  readonly cluster: Cluster;
  readonly audit: Audit;
  readonly rooms: readonly string[];
  /** How many reads there are to some nine other requests. */
  readonly readShare: number;
  /** Makes what is in no other edit. */
  newToken(): string;
  /** Nothing new is begun. */
  isSettling: boolean;
  isOver: boolean;
}

type EditKind = 'push' | 'patch' | 'type' | 'draw';

export class RestClient {
  readonly #scene: Scene;
  readonly #actor: number;
  readonly #expected: readonly ErrorCode[];
  #opsMade = 0;
  #acked: { readonly command: Command; readonly room: string; readonly answer: string }[] = [];

  /** @param expected codes of refusals that are no bug, besides those that say "try again". */
  constructor(scene: Scene, actor: number, expected: readonly ErrorCode[] = []) {
    this.#scene = scene;
    this.#actor = actor;
    this.#expected = expected;
  }

  /** Until the scene is over. */
  async run(): Promise<void> {
    const { world, rooms } = this.#scene;
    const { dice } = world;
    while (!this.#scene.isSettling) {
      await pause(world, 5 + dice.fraction() * 400);
      const room = dice.pick(rooms);
      const what = dice.weighted({ read: this.#scene.readShare, push: 3, patch: 2, type: 2, draw: 0.7, number: 0.5, again: 0.7 });
      if (what === 'read') await this.read(room);
      else if (what === 'again') await this.#again();
      else if (what === 'number') await this.#takeNumber(room);
      else await this.edit(room, what);
    }
  }

  /** Returns whether it was acknowledged. */
  async edit(room: string, kind: EditKind): Promise<boolean> {
    const { audit, newToken } = this.#scene;
    const place = kind === 'draw' ? drawingOf(room) : room;
    const edit = audit.begins({ token: newToken(), room: place, isOrdered: kind === 'push' || kind === 'patch' });
    const command = this.#commandFor(kind, edit);
    const answer = await this.#insist(room, command, edit);
    if (answer === null) return false;
    audit.acks(edit);
    if ('request' in command) this.#acked.push({ command, room, answer: JSON.stringify(answer.value) });
    return true;
  }

  async read(room: string): Promise<boolean> {
    const { audit } = this.#scene;
    const place = this.#scene.world.dice.chance(0.1) ? drawingOf(room) : room;
    const known = audit.knownOf(place);
    const outcome = await this.attempt(room, place === room ? READ : READ_DRAWING);
    if (outcome.is !== 'answer') return false;
    const { value } = outcome;
    const sight = place === room ? sightOf(value as Pieces) : { list: tokensOfDrawing(value as Uint8Array), text: [] };
    audit.read(place, sight, known);
    return true;
  }

  /** What the room shows in Storage, and in its Yjs document, however long it takes. */
  async sights(room: string): Promise<{ storage: Sight; drawing: Sight }> {
    const storage = sightOf((await this.#answer(room, READ)) as Pieces);
    const drawn = (await this.#answer(room, READ_DRAWING)) as Uint8Array;
    return { storage, drawing: { list: tokensOfDrawing(drawn), text: [] } };
  }

  async #answer(room: string, command: Command): Promise<unknown> {
    for (;;) {
      const outcome = await this.attempt(room, command);
      if (outcome.is === 'answer') return outcome.value;
      await pause(this.#scene.world, 50);
    }
  }

  /** A request that was answered is sent once more. */
  async #again(): Promise<void> {
    const { world, audit } = this.#scene;
    if (this.#acked.length === 0) return;
    const { command, room, answer } = world.dice.pick(this.#acked);
    const outcome = await this.attempt(room, command);
    if (outcome.is === 'answer' && JSON.stringify(outcome.value) !== answer)
      audit.broken('C9 a repeated request gets its first answer', `${answer}, and then ${JSON.stringify(outcome.value)}`);
  }

  async #takeNumber(room: string): Promise<void> {
    const request = this.#newRequest();
    const answer = await this.#insist(room, { type: 'storage.nodes', request }, null);
    if (answer !== null) this.#scene.audit.numbered(room, (answer.value as { actor: number }).actor, request.id);
  }

  #commandFor(kind: EditKind, { token }: Edit): Command {
    if (kind === 'draw') return { type: 'ydoc.change', from: null, guid: '', update: drawingWith(token) };
    const id = `0:${this.#actor * 1_000_000 + ++this.#opsMade}`; // of nobody's number: it has asked no room for one
    if (kind === 'patch')
      return { type: 'storage.patch', operations: [{ op: 'add', path: '/list/-', value: token }], request: this.#newRequest() };
    const op =
      kind === 'push'
        ? ({ type: OP.CREATE_REGISTER, id, opId: id, parentId: LIST_ID, parentKey: '!', intent: 'push', data: token } as const)
        : ({
            type: OP.UPDATE_TEXT,
            id: TEXT_ID,
            opId: id,
            baseVersion: 0,
            ops: [{ type: 'insert', index: 0, text: `${token};` }],
          } as const);
    const isKeyed = this.#scene.world.dice.chance(0.5);
    return { type: 'storage.send', ops: [op], ...(isKeyed && { request: this.#newRequest() }) };
  }

  #newRequest(): RequestKey {
    return { id: `${this.#actor}/${++this.#opsMade}`, digest: 'same' };
  }

  /** Sends it until it is answered, or the client has had enough. Null when it was not answered. */
  async #insist(room: string, command: Command, edit: Edit | null): Promise<{ readonly value: unknown } | null> {
    const { world } = this.#scene;
    const patience = world.dice.chance(0.2) ? 1 : 12;
    for (let attempt = 1; attempt <= patience; attempt += 1) {
      const mayHaveBeen = edit?.mayBeThere ?? false;
      if (edit !== null) edit.mayBeThere = true; // from now on, until it is refused
      const outcome = await this.attempt(room, command);
      if (this.#scene.isOver) return null; // too late to count: the end is being judged
      if (outcome.is === 'answer') return { value: outcome.value };
      if (edit !== null && isWithoutEffect(outcome)) edit.mayBeThere = mayHaveBeen;
      if (attempt < patience) await pause(world, 5 + world.dice.fraction() * 200);
    }
    return null;
  }

  /** One request through any worker. */
  async attempt(room: string, command: Command): Promise<Outcome> {
    const { world, cluster } = this.#scene;
    const life = anyLife(cluster);
    if (life === null) return { is: 'refusal', error: new AppError('WORKER_UNREACHABLE') };
    const { door } = life.worker!;
    const sent = cluster.mutant.sent?.(command) ?? command;
    const outcome = await new Promise<Outcome>((resolve) => {
      const cancel = world.after(250 + world.dice.fraction() * 1_750, () => resolve({ is: 'silence' }));
      const answer = (outcome: Outcome): void => {
        world.after(cluster.travelMs(), () => {
          cancel();
          resolve(outcome);
        });
      };
      life.process.input(cluster.travelMs(), () => {
        door.ask(asRoomId(room), sent).then(
          (value) => answer({ is: 'answer', value }),
          (error: unknown) => answer({ is: 'refusal', error: this.#asRefusal(cluster.mutant.heard?.(error) ?? error) }),
        );
      });
    });
    world.note(
      () =>
        `client ${this.#actor} ${command.type} ${/e\d+e/.exec(JSON.stringify(command))?.[0] ?? ''} in ${room} by ${life.name}: ${outcome.is} ${outcome.is === 'refusal' ? outcome.error.code : ''}`,
    );
    return outcome;
  }

  #asRefusal(error: unknown): AppError {
    const isExpected = ({ code }: AppError): boolean =>
      code === 'OUTCOME_UNKNOWN' || NOTHING_HAPPENED.has(code) || this.#expected.includes(code);
    if (error instanceof AppError && isExpected(error)) return error;
    this.#scene.audit.broken('C11 no trouble in the code', error instanceof Error ? String(error.stack) : String(error));
    return new AppError('INTERNAL_SERVER_ERROR');
  }
}

function isWithoutEffect(outcome: Outcome): boolean {
  return outcome.is === 'refusal' && NOTHING_HAPPENED.has(outcome.error.code);
}

/** A process that takes connections. */
export function anyLife(cluster: Cluster): Life | null {
  const open = cluster.machines.flatMap(({ life }) => (life !== null && life.worker !== null ? [life] : []));
  return open.length === 0 ? null : cluster.world.dice.pick(open);
}

export function pause(world: World, ms: number): Promise<void> {
  return new Promise((resolve) => world.after(ms, resolve));
}
