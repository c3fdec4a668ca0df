/**
 * RoomState ↔ bytes, for snapshots. A stored format with a version: older ones stay readable, newer ones are refused.
 *
 * Only what is durable is in it: Storage, Yjs documents, the actor numbers in use, the requests decided lately, who is to be named by the next
 * version of the history. Sessions and presence live and die with the owner.
 */
import { pack, unpack } from '../base/binary.ts';
import { AppError } from '../base/errors.ts';
import { SmallSet } from '../base/small.ts';
import { replayChange, replayKept, unkeptAuthors } from './history.ts';
import type { JournalRecord } from './journal-record.ts';
import type { StoredRequests } from './recent-requests.ts';
import type { RoomState } from './shapes.ts';
import { replayOps } from './storage/apply.ts';
import { dumpStorage, loadStorage } from './storage/dump.ts';
import { emptyStorage } from './storage/tree.ts';
import { numberBehindNodes } from './storage/unassigned.ts';
import { decodeYdoc, emptyYdoc, encodeYdoc, factsOf, replayUpdate, type YdocFacts } from './ydoc/ydoc.ts';

/** 2 has `requests`, 3 `history`; some of 3 have facts of documents, which who does not know them passes over; 4 has requests as they lie in memory. */
const FORMAT = 4;

/** Of formats 2 and 3. */
type ListedRequest = readonly [id: string, digest: string, atMs: number, answer: string | null];

interface Stored {
  readonly format: number;
  readonly numbersNext: number;
  readonly storage: unknown;
  readonly ydocs: readonly (readonly [guid: string, update: Uint8Array, facts?: YdocFacts | null])[];
  readonly requests?: StoredRequests | readonly ListedRequest[];
  readonly history?: StoredHistory;
}

interface StoredHistory {
  readonly authors: readonly string[];
  readonly changedAt: number;
  readonly keptUpTo: number;
  readonly keptAtMs: number;
}

/** The room as of its current version. */
export function encodeSnapshot(room: RoomState): Uint8Array {
  const ydocs = [...room.ydocs].map(([guid, doc]) => [guid, encodeYdoc(doc), factsOf(doc)] as const);
  const numbersNext = firstFreeAfterCrash(room);
  const requests = room.requests.stored();
  const { changedAt, keptUpTo, keptAtMs } = room.history;
  const history: StoredHistory = { authors: unkeptAuthors(room.history), changedAt, keptUpTo, keptAtMs };
  return pack({ format: FORMAT, numbersNext, storage: dumpStorage(room.storage), ydocs, requests, history } satisfies Stored);
}

/** Fills a fresh room from a snapshot. @throws AppError ROOM_UNREADABLE when this build cannot read it. */
export function restoreSnapshot(room: RoomState, { version, bytes }: { version: number; bytes: Uint8Array }): void {
  const stored = unpack(bytes) as Stored;
  if (stored.format > FORMAT)
    throw new AppError('ROOM_UNREADABLE', { reason: `its snapshot has format ${stored.format}, this build reads ${FORMAT}` });
  room.version = version;
  room.storage = loadStorage(stored.storage);
  for (const [guid, update, facts] of stored.ydocs) room.ydocs.set(guid, decodeYdoc(update, facts));
  restoreRequests(room, stored.requests ?? []);
  restoreHistory(room, stored.history);
  raiseNumbers(room, stored.numbersNext);
}

/** Applies one journaled change again, without the checks that it passed when it was decided. */
export function replayRecord(room: RoomState, record: JournalRecord): void {
  switch (record.kind) {
    case 'storage.ops':
      replayOps(room.storage, record.ops);
      break;
    case 'storage.reset':
      room.storage = emptyStorage();
      break;
    case 'ydoc.update':
      replayUpdate(ydocOf(room, record.guid), record.update);
      break;
    case 'numbers':
      raiseNumbers(room, record.upTo);
      break;
    case 'request':
      room.requests.add(record);
      break;
    case 'history.kept':
      replayKept(room, record);
      break;
    default:
      record satisfies never;
  }
  room.version += 1;
  if (isOfDocument(record)) replayChange(room, 'author' in record ? record.author : undefined);
}

function isOfDocument({ kind }: JournalRecord): boolean {
  return kind === 'storage.ops' || kind === 'storage.reset' || kind === 'ydoc.update';
}

function restoreRequests({ requests }: RoomState, stored: StoredRequests | readonly ListedRequest[]): void {
  if ('slots' in stored) requests.restore(stored);
  else for (const [id, digest, atMs, answer] of stored) requests.add({ id, digest, atMs, answer });
}

/** Of a room that was saved before there were versions it is not known what is in none: all of it. */
function restoreHistory(room: RoomState, stored: StoredHistory | undefined): void {
  const { authors, ...rest } = stored ?? { authors: [], changedAt: room.version, keptUpTo: 0, keptAtMs: 0 };
  Object.assign(room.history, rest, { authors: new SmallSet(authors) });
}

function ydocOf(room: RoomState, guid: string): ReturnType<typeof emptyYdoc> {
  const known = room.ydocs.get(guid);
  if (known !== undefined) return known;
  const doc = emptyYdoc();
  room.ydocs.set(guid, doc);
  return doc;
}

/**
 * The next claim keeps clear of the block of this one by itself. Numbers beyond that block only the journal has reserved, in a record that the
 * snapshot takes the place of: all of those count as used.
 */
function firstFreeAfterCrash({ numbers }: RoomState): number {
  return numbers.reservedTo > numbers.claimedTo ? numbers.reservedTo : numbers.next;
}

/** Once all is read: no node, whoever made it under whatever number, has one that is still to be given out. */
export function passNumbersOfNodes(room: RoomState): void {
  raiseNumbers(room, numberBehindNodes(room.storage, room.numbers.next));
}

/** Numbers below `from` may be in use; the claim's block starts above all that earlier claims reserved, so this seldom moves it. */
function raiseNumbers({ numbers }: RoomState, from: number): void {
  numbers.next = Math.max(numbers.next, from);
  numbers.reservedTo = Math.max(numbers.reservedTo, numbers.next);
}
