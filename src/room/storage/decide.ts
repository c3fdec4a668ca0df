/**
 * What a room decides about Storage. The rules of merging are in `apply.ts`; here is who may, who is told, and what is written down.
 *
 * Nothing computed from Storage leaves before it is durable: JSON is no CRDT, so nobody may see what could still vanish (design §4).
 */
import { AppError } from '../../base/errors.ts';
import type { SessionId } from '../../base/ids.ts';
import { allows } from '../../protocol/permissions.ts';
import type { ServerMessage } from '../../protocol/server-messages.ts';
import type { Op, OpsText } from '../../protocol/storage-ops.ts';
import { noteChange } from '../history.ts';
import { sessionOf, takeNumber } from '../roster.ts';
import { type Refused, type Trial, trialOf, underSchema } from '../schema/decide.ts';
import { takeBackReplies } from '../schema/take-back.ts';
import type { Command, Effect, RestIds, RoomState, Session } from '../shapes.ts';
import { type Applied, applyOps, type Sender } from './apply.ts';
import type { NewIds } from './draft.ts';
import { comeLate, noteHeir } from './heirs.ts';
import { opsFromLson } from './lson.ts';
import { makerOf } from './makers.ts';
import { withTexts } from './ops-text.ts';
import { applyJsonPatch } from './patch.ts';
import { noteReader } from './text-departures.ts';
import { documentText, frameOf, LINES, piecesOf } from './texts.ts';
import { atomically, emptyStorage, isEmptyStorage, type Storage } from './tree.ts';

type Of<Type extends Command['type']> = Extract<Command, { type: Type }>;

/** Who may not read it is not told, and stays for the rest of the room; it asks again by itself once it may (`told.ts`). */
export function decideStorageFetch(room: RoomState, { from }: Of<'storage.fetch'>): Effect[] {
  const session = sessionOf(room, from);
  if (!allows(session.permissions, 'storage', 'read')) return [];
  session.storageAt = room.decision;
  noteReader(room.storage.departures, session.actor);
  return [tell(from, stateOf(room))];
}

export function decideStorageChange(room: RoomState, { from, ops, missingFiles = [] }: Of<'storage.change'>): Effect[] {
  const session = sessionOf(room, from);
  const { heirs } = room.storage;
  if (comeLate(heirs, ops, session.actor)) return [{ type: 'close', session: from, code: 'ROOM_MOVED', facts: {}, when: 'now' }];
  noteHeir(heirs, ops, session.actor);
  const work = (): Applied => applyOps(room.storage, ops, { actor: session.actor, numbersEnd: room.numbers.next });
  const reason = reasonAgainst(session, missingFiles);
  if (reason !== null) {
    const mayRead = allows(session.permissions, 'storage', 'read'); // what it changed it is told the values of
    return mayRead ? takeBack(room, { from, ops, ...undone(room, reason, work) }) : [rejected(from, ops, reason)];
  }
  const { applied, refused } = underSchema(room, work);
  if (applied === null) return takeBack(room, { from, ops, ...refused });
  const { replies, forwards, journal } = withTexts(applied);
  const effects = record(room, journal, session.userId);
  if (replies.ops.length > 0) effects.push(tell(from, { type: 'storage.ops', ...replies }));
  effects.push(...forward(forwards, from));
  for (const { opIds, reason } of applied.rejected) effects.push(tell(from, { type: 'storage.rejected', opIds, reason }));
  if (applied.needsRepair) effects.push(tell(from, stateOf(room)));
  return effects;
}

export function decideStorageRefers({ storage }: RoomState, { fileIds }: Of<'storage.refers'>): Effect[] {
  return [reply(fileIds.filter((fileId) => storage.files.has(fileId)))];
}

export function decideStorageRead(room: RoomState, form: Of<'storage.read'>): Effect[] {
  return [reply(piecesOf(room.storage, form))];
}

/** What filling an empty Storage with `root` is answered: it depends on nothing else, so it can be told again at any time. */
export function initializedText({ root, typeKey }: Pick<Of<'storage.initialize'>, 'root' | 'typeKey'>): string {
  const storage = emptyStorage();
  const ids: RestIds = { actor: 1, nextNode: 0, nextOp: 0 };
  applyOps(storage, opsFromLson(root, nodeIds(storage, ids)), ids);
  return documentText(storage, { format: 'plain-lson', typeKey });
}

/** Fills an empty Storage; everybody connected comes back to it (contract, States: Room Storage). */
export function decideStorageInitialize(room: RoomState, { root, typeKey }: Of<'storage.initialize'>): Effect[] {
  if (!isEmptyStorage(room.storage)) throw new AppError('CANNOT_UPDATE_EXISTING_STORAGE', { roomId: room.id });
  const ids = restIds(room);
  const ops = opsFromLson(root, nodeIds(room.storage, ids));
  const { applied, refused } = underSchema(room, () => applyOps(room.storage, ops, { actor: ids.actor }), 'all');
  if (applied === null) throw new AppError('UNPROCESSABLE_ENTITY', { reason: refused.reason });
  const effects = keepRestIds(room, ids);
  effects.push(
    ...record(room, { ops: applied.journal }, null),
    reply(documentText(room.storage, { format: 'plain-lson', typeKey })),
    reconnectEveryone(),
  );
  return effects;
}

export function decideStorageDelete(room: RoomState): Effect[] {
  if (isEmptyStorage(room.storage)) return [reply(null)];
  room.storage = emptyStorage();
  room.version += 1;
  noteChange(room, null);
  return [{ type: 'journal', record: { kind: 'storage.reset' } }, reply(null), reconnectEveryone()];
}

export function decideStoragePatch(room: RoomState, patch: Of<'storage.patch'>): Effect[] {
  const ids = restIds(room);
  const { applied, refused } = underSchema(room, () => applyJsonPatch(room.storage, patch, nodeIds(room.storage, ids)));
  if (applied === null) throw new AppError('INVALID_STORAGE_MUTATION_REQUEST', { reason: refused.reason + hintOf(refused) });
  const { forwards, journal } = withTexts(applied);
  const effects = keepRestIds(room, ids);
  effects.push(...record(room, journal, null), ...forward(forwards, null), reply(null));
  return effects;
}

/** The caller may have written plain JSON, and not know what became of it (supplement 1.5, "Value conversion"). */
function hintOf({ found }: Refused): string {
  if (found !== 'a LiveObject' && found !== 'a LiveList') return '';
  return '; a JSON Patch makes a LiveObject of an object and a LiveList of an array: plain ones are set with mutateStorage of the SDK, or the schema says LiveObject or LiveList';
}

/** A fresh actor and all nodes, for a back end that edits Storage with the SDK's own data structures (protocol 8.4). */
export function decideStorageNodes(room: RoomState): Effect[] {
  const effects: Effect[] = [];
  const actor = takeNumber(room, effects);
  effects.push(reply({ actor, lines: piecesOf(room.storage, LINES) }));
  return effects;
}

/** All ops or none: a back end reads no rejection of one of them, only whether its request was refused. */
export function decideStorageSend(room: RoomState, { ops }: Of<'storage.send'>): Effect[] {
  const actor = makerOf(ops[0]?.opId);
  const { applied, refused } = underSchema(room, () => applyAllOps(room.storage, ops, { actor, numbersEnd: room.numbers.next }));
  if (applied === null) throw new AppError('INVALID_STORAGE_MUTATION_REQUEST', { reason: refused.reason });
  const { replies, forwards, journal } = withTexts(applied);
  return [...record(room, journal, null), ...forward(forwards, null), reply({ ops: replies.ops })];
}

function applyAllOps(storage: Storage, ops: readonly Op[], sender: Sender): Applied {
  let applied: Applied | null = null;
  atomically(storage, () => {
    applied = applyOps(storage, ops, sender);
    const [rejection] = applied.rejected;
    if (rejection !== undefined) throw new AppError('INVALID_STORAGE_MUTATION_REQUEST', { reason: rejection.reason });
    return undefined;
  });
  return applied!;
}

/** Why none of a message's ops may be applied, whatever they say; null when they may. */
function reasonAgainst({ permissions }: Session, [missingFile]: readonly string[]): string | null {
  if (!allows(permissions, 'storage', 'write')) return 'The session may not write to Storage';
  return missingFile === undefined ? null : `No file "${missingFile}" was uploaded to this room`;
}

/** Ops that may not be are made and taken back, to know what their sender changed by them. */
function undone({ storage }: RoomState, reason: string, work: () => Applied): Refused {
  let trial: Trial | null = null;
  atomically(storage, (changes) => {
    trial = trialOf(changes, work());
    return 'take back';
  });
  return { reason, ...trial! };
}

/** Nothing of a message was applied: its sender takes it back, and its application hears why, last, when all is as it was. */
function takeBack(room: RoomState, { from, ops, reason, ...trial }: Refused & { from: SessionId; ops: readonly Op[] }): Effect[] {
  const { replies, needsState } = takeBackReplies(room.storage, ops, trial);
  return [
    tell(from, { type: 'storage.ops', ops: replies }),
    ...(needsState ? [tell(from, stateOf(room))] : []),
    rejected(from, ops, reason),
  ];
}

function rejected(from: SessionId, ops: readonly Op[], reason: string): Effect {
  const opIds = ops.flatMap(({ opId }) => (opId === undefined ? [] : [opId]));
  return tell(from, { type: 'storage.rejected', opIds, reason: `${reason}.` });
}

/** One record per decision, however many ops: they are one change to whoever reads the journal. What comes over REST is nobody's. */
function record(room: RoomState, journal: OpsText, userId: string | null): Effect[] {
  if (journal.ops.length === 0) return [];
  room.version += 1;
  return [{ type: 'journal', record: { kind: 'storage.ops', ...journal, ...noteChange(room, userId) } }];
}

function forward(forwards: OpsText, from: SessionId | null): Effect[] {
  if (forwards.ops.length === 0) return [];
  return [{ type: 'send', to: { storageBut: from }, when: 'durable', message: { type: 'storage.ops', ...forwards } }];
}

function stateOf(room: RoomState): ServerMessage {
  return { type: 'storage.state', frame: frameOf(room.storage) };
}

function tell(only: SessionId, message: ServerMessage): Effect {
  return { type: 'send', to: { only }, when: 'durable', message };
}

function reply(value: unknown): Effect {
  return { type: 'reply', value, when: 'durable' };
}

function reconnectEveryone(): Effect {
  return {
    type: 'close',
    session: 'everyone',
    code: 'KICKED',
    facts: { reason: 'The Storage of the room was replaced.' },
    when: 'durable',
  };
}

/** Nodes made over REST carry a number that no client ever had: the next one, which `keepRestIds` takes when nothing can fail any more. */
function restIds(room: RoomState): RestIds {
  return room.restIds ?? { actor: room.numbers.next, nextNode: 0, nextOp: 0 };
}

function keepRestIds(room: RoomState, ids: RestIds): Effect[] {
  const effects: Effect[] = [];
  if (room.restIds === null) takeNumber(room, effects);
  room.restIds = ids;
  return effects;
}

/** Passes over ids that are taken: a client may make nodes and edit texts under any number that was given out. */
function nodeIds({ nodes, textOpIds }: Storage, ids: RestIds): NewIds {
  return {
    nextNodeId: () => firstFree(nodes, () => `${ids.actor}:${ids.nextNode++}`),
    nextOpId: () => firstFree(textOpIds, () => `${ids.actor}:${ids.nextOp++}`),
  };
}

function firstFree(taken: { has(id: string): boolean }, next: () => string): string {
  let id = next();
  while (taken.has(id)) id = next();
  return id;
}
