/**
 * Versions of the history: Storage and all Yjs documents of one moment, kept for people to look at and to go back to.
 *
 * Here is what a room knows of them: who changed something that is in none yet, and which are on their way to be kept. Where they are kept
 * it does not know; the shell tells it how that went (`history-keeper.ts`).
 */
import { AppError } from '../base/errors.ts';
import type { RequestKey } from '../base/ids.ts';
import { sha256Base64 } from '../base/sha256.ts';
import { SmallMap, SmallSet } from '../base/small.ts';
import { encodeVersion } from './history-body.ts';
import { REQUEST_AGE_MS_MAX } from './recent-requests.ts';
import type { Command, DecideContext, Effect, RoomState } from './shapes.ts';

export interface History {
  /** Who changed something that is in no version yet, and not on its way into one. */
  authors: Set<string>;
  /** The room's version at the last change of Storage or of a Yjs document. */
  changedAt: number;
  /** The room's version that the newest kept one is of, and when that was; 0 when there was none. */
  keptUpTo: number;
  keptAtMs: number;
  /** On their way, by id. */
  readonly taken: Map<string, TakenVersion>;
}

/** A version as it was decided, before it is kept. */
export interface TakenVersion {
  readonly id: string;
  readonly request: RequestKey | null;
  /** The room's version. */
  readonly version: number;
  readonly atMs: number;
  readonly authors: readonly string[];
  readonly body: Uint8Array;
}

/** Users that a version names; of a crowd the first. Every snapshot of the room carries them. */
export const AUTHORS_MAX = 1_000;
/** Versions of one room on their way at a time, and the memory they may hold before another one is refused. */
export const TAKEN_MAX = 100;
export const TAKEN_BYTES_MAX = 64 * 1024 * 1024;

const NOBODY = {} as const;

type Keep = Extract<Command, { type: 'history.keep' }>;
type Settle = Extract<Command, { type: 'history.settle' }>;

export function emptyHistory(): History {
  return { authors: new SmallSet(), changedAt: 0, keptUpTo: 0, keptAtMs: 0, taken: new SmallMap() };
}

/**
 * Notes a change of a document that the room's version counts already. Returns what its journal record must carry: the user, when this is the
 * first change since the last version, so that all later ones cost a look-up.
 */
export function noteChange({ history, version }: RoomState, userId: string | null): { readonly author?: string } {
  history.changedAt = version;
  if (userId === null || history.authors.has(userId) || history.authors.size >= AUTHORS_MAX) return NOBODY;
  history.authors.add(userId);
  return { author: userId };
}

/** Notes such a change again, from its record. */
export function replayChange({ history, version }: RoomState, author: string | undefined): void {
  history.changedAt = version;
  if (author !== undefined) history.authors.add(author);
}

/** All who are in no version that is kept; what is on its way may still fail. */
export function unkeptAuthors({ authors, taken }: History): string[] {
  const all = new Set<string>();
  for (const version of taken.values()) for (const author of version.authors) all.add(author);
  for (const author of authors) all.add(author);
  return [...all];
}

export function hasUnkeptChanges({ changedAt, keptUpTo }: History): boolean {
  return changedAt > keptUpTo;
}

/**
 * The same for the same request on one day: one that comes again after a crash finds what it made, and a key that is used again when its request
 * is forgotten makes another version. Given up: a crash before the request is journaled, and a repetition after midnight (UTC), make two.
 */
export function versionIdOf({ id }: RequestKey, atMs: number): string {
  return idFrom(`${id} ${Math.floor(atMs / REQUEST_AGE_MS_MAX)}`);
}

const ID_LENGTH = 21;

function idFrom(name: string): string {
  const digest = sha256Base64(Buffer.from(name));
  return `vh_${digest.replaceAll('+', '-').replaceAll('/', '_').slice(0, ID_LENGTH)}`;
}

/**
 * Takes a version; the reply is the shell's, once it is kept. A request that comes again meanwhile waits for the same one. It is remembered when
 * the version is kept, not before: what was not kept is made anew.
 * @throws AppError ROOM_OVERLOADED when too many are on their way; IDEMPOTENCY_KEY_REUSED
 */
export function decideHistoryKeep(room: RoomState, command: Keep, ctx: DecideContext): Effect[] {
  const { history } = room;
  const request = command.request ?? null;
  const underWay = request === null ? undefined : underWayFor(history, request);
  if (underWay !== undefined) {
    if (underWay.request?.digest !== request?.digest) throw new AppError('IDEMPOTENCY_KEY_REUSED');
    return [{ type: 'keep', version: underWay }];
  }
  if (history.taken.size >= TAKEN_MAX || takenBytes(history) >= TAKEN_BYTES_MAX) throw new AppError('ROOM_OVERLOADED');
  const id = request === null ? ownId(room) : versionIdOf(request, ctx.nowMs);
  const body = encodeVersion(room);
  const version: TakenVersion = { id, request, version: room.version, atMs: ctx.nowMs, authors: [...history.authors], body };
  history.taken.set(id, version);
  history.authors = new SmallSet();
  return [{ type: 'keep', version }];
}

/**
 * How it went. The authors of a version that was not kept are named by the next one. So are those of a request that came again and found the version
 * that it had made before its answer was lost: what has changed since then is not in it, and whom it names is not known here.
 */
export function decideHistorySettle(room: RoomState, { id, outcome }: Settle): Effect[] {
  const { history } = room;
  const version = history.taken.get(id);
  if (version === undefined) return [];
  history.taken.delete(id);
  if (outcome !== 'kept') {
    history.authors = new SmallSet([...version.authors, ...history.authors]);
    return outcome === 'found' ? rememberRequest(room, version) : [];
  }
  room.version += 1;
  const kept = { upTo: version.version, atMs: version.atMs, authors: unkeptAuthors(history) };
  noteKept(history, kept);
  return [{ type: 'journal', record: { kind: 'history.kept', ...kept } }, ...rememberRequest(room, version)];
}

function rememberRequest(room: RoomState, { request, atMs }: TakenVersion): Effect[] {
  if (request === null) return [];
  const decided = { ...request, atMs, answer: null };
  room.requests.add(decided);
  room.version += 1;
  return [{ type: 'journal', record: { kind: 'request', ...decided } }];
}

/** The same from its record, in which `authors` are those that the version does not name. */
export function replayKept({ history }: RoomState, kept: { upTo: number; atMs: number; authors: readonly string[] }): void {
  noteKept(history, kept);
  history.authors = new SmallSet(kept.authors);
}

function noteKept(history: History, { upTo, atMs }: { upTo: number; atMs: number }): void {
  history.keptUpTo = Math.max(history.keptUpTo, upTo);
  history.keptAtMs = Math.max(history.keptAtMs, atMs);
}

function underWayFor({ taken }: History, { id }: RequestKey): TakenVersion | undefined {
  for (const version of taken.values()) if (version.request?.id === id) return version;
  return undefined;
}

function takenBytes({ taken }: History): number {
  let bytes = 0;
  for (const { body } of taken.values()) bytes += body.length;
  return bytes;
}

/** For a version that nobody asked for. No decision of another owner has this name. */
function ownId({ claim: { stream, epoch }, decision }: RoomState): string {
  return idFrom(`${stream} ${epoch} ${decision}`);
}
