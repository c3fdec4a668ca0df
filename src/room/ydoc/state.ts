/**
 * One Yjs document as a room keeps it: merged bytes, the raw updates since, and what the scans of both have told. A `Y.Doc`
 * exists only while something needs one (`live.ts`).
 */
import type * as Y from 'yjs';
import type { SessionId } from '../../base/ids.ts';
import { SmallMap } from '../../base/small.ts';
import type { Crowding } from './crowding.ts';
import { addAllDeleted, type Deleted, isDeleted } from './deleted.ts';
import { type ScannedUpdate, scanStored, type WholeScan } from './scan.ts';
import type { Vector } from './vector.ts';
import type { Writers } from './writers.ts';
import type { Writing } from './writing.ts';

export interface Ydoc {
  /** One V1 update: the document at its last compaction. */
  base: Uint8Array;
  /** Its scan, made when first needed; undefined until then, null when only Yjs can read it. */
  baseScan: WholeScan | null | undefined;
  tail: Tail;
  /** By client, the clock up to which everything is here. */
  known: Map<number, number>;
  readonly deleted: Deleted;
  readonly writers: Writers;
  /** Bytes of what waits for updates that have not come; as long as there are any, every update goes through the `Y.Doc`. */
  pendingBytes: number;
  /** No type lies deeper than this, one in a root at 1; counted up by what arrives, measured when it comes near the limit. */
  nestingBound: number;
  /** The depth that was measured last, and of what; null while nothing was. */
  measured: { readonly depth: number; readonly upTo: Vector } | null;
  /** There are no more documents within it than this, that are not deleted: exact when a `Y.Doc` has just been made, counted up by what arrives. */
  documents: number;
  /** Its roots: all of them once a `Y.Doc` has been made, and until then those that have been named since it was loaded. */
  roots: Set<string>;
  /** What Yjs may have to do where several writers put something at one place. */
  crowding: Crowding;
  /** Clients behind whose last struct there is nothing (`crowding.ts`). */
  readonly free: Set<number>;
  /** Sessions that sent what was dropped, and have not been asked for it since. Null while there are none. */
  dropped: Set<SessionId> | null;
  live: Live | null;
  /** What is written of it already, for the next time that it is folded. */
  writing: Writing | null;
  /** Null when nobody has asked since the last change. */
  answers: Answers | null;
}

/** What was computed for whoever asked, good until the next change: a thousand newcomers share it, and to ask again costs nothing. */
export interface Answers {
  /** To an empty state vector. */
  whole: Uint8Array | null;
  /** To one that lacks no struct: all deletions. */
  deletions: Uint8Array | null;
  vector: Uint8Array | null;
  hash: string | null;
  hashInV2: string | null;
  /** By session, how many answers it got that serve nobody else. */
  readonly partly: Map<SessionId, number>;
}

export interface Live {
  readonly ydoc: Y.Doc;
  /** Updates of the tail that it holds; it holds all of the base. */
  drained: number;
}

/** Updates one after the other in one buffer: thirty bytes each need no object of two hundred. */
export interface Tail {
  bytes: Uint8Array;
  /** Where each update ends. */
  readonly ends: number[];
  /** Scans of long updates, by their index, made for those who ask for a part of the document. Null while there are none. */
  scans: Map<number, ScannedUpdate | null> | null;
}

/** A shorter one is scanned in less than 10 µs. */
const SCAN_KEPT_BYTES_MIN = 1_024;

const TAIL_BYTES_MIN = 256;
const NO_BYTES = new Uint8Array(0);

export function answersOf(doc: Ydoc): Answers {
  doc.answers ??= { whole: null, deletions: null, vector: null, hash: null, hashInV2: null, partly: new SmallMap() };
  return doc.answers;
}

/** A `Y.Doc` may go on reading the bytes of updates it took: a folded tail is left behind, not written over. */
export function emptyTail(): Tail {
  return { bytes: NO_BYTES, ends: [], scans: null };
}

export function tailBytes(tail: Tail): number {
  return tail.ends.at(-1) ?? 0;
}

/** Whether its base is not all of it. */
export function isUnfolded({ tail }: Ydoc): boolean {
  return tail.ends.length > 0;
}

export function pushTail(tail: Tail, update: Uint8Array): void {
  const from = tailBytes(tail);
  const to = from + update.length;
  if (to > tail.bytes.length) {
    const larger = new Uint8Array(Math.max(TAIL_BYTES_MIN, 2 * from, to));
    larger.set(tail.bytes.subarray(0, from));
    tail.bytes = larger;
  }
  tail.bytes.set(update, from);
  tail.ends.push(to);
}

/** Takes the last update back; no `Y.Doc` may have kept anything of it. */
export function popTail(tail: Tail): void {
  tail.ends.pop();
  tail.scans?.delete(tail.ends.length);
}

export function tailUpdate(tail: Tail, index: number): Uint8Array {
  return tail.bytes.subarray(index === 0 ? 0 : tail.ends[index - 1]!, tail.ends[index]!);
}

/** Null for one that only Yjs can read, likewise of the tail. */
export function scanBase(doc: Ydoc): WholeScan | null {
  if (doc.baseScan === undefined) doc.baseScan = scanStored(doc.base);
  return doc.baseScan;
}

export function tailScan(tail: Tail, index: number): ScannedUpdate | null {
  const known = tail.scans?.get(index);
  if (known !== undefined) return known;
  const update = tailUpdate(tail, index);
  const scanned = scanStored(update);
  if (update.length >= SCAN_KEPT_BYTES_MIN) {
    tail.scans ??= new Map();
    tail.scans.set(index, scanned);
  }
  return scanned;
}

/** Counts in the spans of an update that is seamless (`fit.ts`). */
export function advance(known: Map<number, number>, { spans }: ScannedUpdate): void {
  for (const { client, to } of spans) if (to > (known.get(client) ?? 0)) known.set(client, to);
}

export function noteDeletes(deleted: Deleted, { deletes }: Pick<ScannedUpdate, 'deletes'>): void {
  for (let at = 0; at < deletes.length; ) {
    const client = deletes[at]!;
    const ranges: number[] = [];
    for (; deletes[at] === client; at += 3) ranges.push(deletes[at + 1]!, deletes[at + 2]!);
    addAllDeleted(deleted, client, ranges);
  }
}

/** Whether the update deletes anything that is here and was not deleted. May err towards yes: see `deleted.ts`. */
export function deletesSomething({ known, deleted }: Ydoc, { deletes }: ScannedUpdate): boolean {
  for (let at = 0; at < deletes.length; at += 3) {
    const client = deletes[at]!;
    const to = Math.min(deletes[at + 2]!, known.get(client) ?? 0);
    if (deletes[at + 1]! < to && !isDeleted(deleted, client, deletes[at + 1]!, to)) return true;
  }
  return false;
}
