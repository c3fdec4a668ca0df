/**
 * The Yjs document of a room: what may enter it, and what others are told of it. Synchronous, no I/O, no clock.
 *
 * A live update costs one scan and one append of its raw bytes. Everything that needs the document itself goes through `live.ts`.
 * Who may write, who is told and what waits for the journal is decided in `decide.ts`.
 */
import * as Y from 'yjs';
import { concat } from '../../base/binary.ts';
import { AppError } from '../../base/errors.ts';
import type { SessionId } from '../../base/ids.ts';
import { sha256Base64 } from '../../base/sha256.ts';
import { SmallMap, SmallSet } from '../../base/small.ts';
import { invalidUpdate } from './byte-reader.ts';
import { type Added, addedBy, crowdingOf, isUncrowded, itemsInBytes, itemsOf, noteFree, structsOf } from './crowding.ts';
import { type Deleted, decodeDeleted, encodeDeleted } from './deleted.ts';
import { checkDeletedAdvance, checkLead, isHere, isReady, reachOf } from './fit.ts';
import { joinUpdates, joinWithGaps, type Part } from './join.ts';
import { YDOC_LIMITS, type YdocLimits } from './limits.ts';
import { compactYdoc, encodeAfter, materialise } from './live.ts';
import { type ScannedUpdate, scanStored, scanUpdate } from './scan.ts';
import { advance, answersOf, emptyTail, noteDeletes, pushTail, tailBytes, tailScan, tailUpdate, type Ydoc } from './state.ts';
import { tooManyDocuments, tryUpdate } from './trial.ts';
import { decodeVector, encodeVector, type Vector } from './vector.ts';
import { checkWriters, recordWriters, type Sender } from './writers.ts';

export { compactYdoc } from './live.ts';
export type { Ydoc } from './state.ts';
export type { Sender } from './writers.ts';

export interface Accepted {
  /** False only when every struct and deletion was here already. */
  readonly changed: boolean;
  /** What must be written down and told: the update, its deletions in order; null when nothing changed. */
  readonly journal: Uint8Array | null;
}

const UNCHANGED: Accepted = { changed: false, journal: null };

/** No structs, no deletions. */
const EMPTY_UPDATE = Uint8Array.of(0, 0);
const EMPTY_VECTOR = Uint8Array.of(0);

export function emptyYdoc(): Ydoc {
  return {
    base: EMPTY_UPDATE,
    baseScan: undefined,
    tail: emptyTail(),
    known: new SmallMap(),
    deleted: new SmallMap(),
    writers: new SmallMap(),
    pendingBytes: 0,
    nestingBound: 1,
    documents: 0,
    roots: new SmallSet(),
    measured: null,
    crowding: crowdingOf(0),
    free: new SmallSet(),
    dropped: null,
    live: null,
    answers: null,
  };
}

/**
 * Takes a client's update, or refuses it before anything changed.
 * @throws AppError YJS_UPDATE_INVALID, YJS_UPDATE_EARLY, YJS_UPDATE_CROWDED, PAYLOAD_TOO_LARGE, YJS_CLIENT_ID_IN_USE
 */
export function acceptUpdate(doc: Ydoc, sent: Uint8Array, from: Sender, limits: YdocLimits = YDOC_LIMITS): Accepted {
  const scanned = scanUpdate(sent, limits);
  const update = deletesInOrder(sent, scanned);
  if (ydocBytes(doc) + update.length > limits.documentBytesMax) {
    throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The Yjs document with this update', bytesMax: limits.documentBytesMax });
  }
  const reach = reachOf(doc.known, scanned);
  checkLead(doc.known, scanned, reach, limits);
  if (from.session !== null) checkDeletedAdvance(doc.known, scanned, limits);
  checkWriters(doc.writers, scanned.spans, doc.known, from, limits);
  if (isHere(doc, scanned)) return UNCHANGED;
  if (scanned.documents > limits.documentsMax) throw tooManyDocuments(limits);
  checkRoots(doc, scanned, limits);
  checkItems(doc, scanned, limits);
  // A plain update changes this very map, any other leaves it behind: what was known before is told from it while that is
  // still so.
  const { known } = doc;
  const isShallow = doc.nestingBound + scanned.nestedTypes <= limits.nestingMax;
  const added = addedBy(scanned, doc.free);
  const isLight = isShallow && isUncrowded(doc.crowding, added, limits);
  const isRoomy = scanned.documents === 0 || doc.documents + scanned.documents <= limits.documentsMax;
  const isPlain = isLight && isRoomy && doc.pendingBytes === 0 && isReady(known, scanned, reach);
  if (!isPlain && tryUpdate(doc, update, { scanned, reach, added }, limits) === 'unchanged') return UNCHANGED;
  if (from.session !== null) recordWriters(doc.writers, scanned.spans, known, from.session, limits);
  if (isPlain) append(doc, update, { scanned, added, limits });
  if (isPlain) doc.documents += scanned.documents;
  noteDeletes(doc.deleted, scanned);
  for (const root of scanned.roots) doc.roots.add(root);
  doc.answers = null;
  return { changed: true, journal: update };
}

/**
 * Takes an update from the journal: it was accepted once, so nothing is refused.
 * @throws AppError ROOM_UNREADABLE if Yjs cannot read it.
 */
export function replayUpdate(doc: Ydoc, update: Uint8Array): void {
  const scanned = scanStored(update);
  pushTail(doc.tail, scanned === null ? update : deletesInOrder(update, scanned));
  doc.crowding.items += scanned === null ? itemsInBytes(update) : itemsOf(scanned);
  doc.answers = null;
  note(doc, scanned);
  const isPlain = scanned !== null && doc.pendingBytes === 0 && isReady(doc.known, scanned, reachOf(doc.known, scanned));
  if (isPlain) advance(doc.known, scanned);
  else materialise(doc);
}

/** V1 state vector of all that is here; what waits for other updates is left out. */
export function stateVector(doc: Ydoc): Uint8Array {
  const answers = answersOf(doc);
  answers.vector ??= encodeVector(doc.known);
  return answers.vector;
}

/**
 * Everything that `vector` lacks, as one V1 update: structs, all deletions, and what waits here for updates that have not come.
 * @throws AppError YJS_UPDATE_INVALID for bytes that are no state vector.
 */
export function missingFor(doc: Ydoc, vector: Uint8Array): Uint8Array {
  const clocks = decodeVector(vector);
  return sharedFor(doc, clocks) ?? joinAfter(doc, clocks) ?? encodeAfter(doc, vector);
}

/**
 * The same for a session that asks by itself. One that goes on asking for parts with nothing changed gets the whole document, which all
 * share: it holds what is missing, too, and takes no computing.
 * @throws AppError as `missingFor`
 */
export function missingForSession(
  doc: Ydoc,
  vector: Uint8Array,
  session: SessionId,
  limits: YdocLimits = YDOC_LIMITS,
): Uint8Array {
  const clocks = decodeVector(vector);
  const shared = sharedFor(doc, clocks);
  if (shared !== null) return shared;
  const { partly } = answersOf(doc);
  const times = partly.get(session) ?? 0;
  if (times >= limits.partlyAnswersMax) return missingFor(doc, EMPTY_VECTOR);
  partly.set(session, times + 1);
  return joinAfter(doc, clocks) ?? encodeAfter(doc, vector);
}

/** Whether the answer was computed for somebody already, and nothing changed since. */
export function isAtHand(doc: Ydoc, clocks: Vector): boolean {
  if (doc.answers === null) return false;
  if (clocks.size === 0) return doc.answers.whole !== null;
  return doc.answers.deletions !== null && isCovered(doc.known, clocks);
}

/** The answer to those who have nothing, or all structs; null for others. */
function sharedFor(doc: Ydoc, clocks: Vector): Uint8Array | null {
  if (doc.tail.ends.length > YDOC_LIMITS.joinedTailMax) compactYdoc(doc);
  const answers = answersOf(doc);
  if (clocks.size === 0) {
    answers.whole ??= doc.tail.ends.length === 0 ? doc.base : (joinAfter(doc, clocks) ?? encodeAfter(doc, EMPTY_VECTOR));
    return answers.whole;
  }
  if (doc.pendingBytes > 0 || !isCovered(doc.known, clocks)) return null;
  answers.deletions ??= joinUpdates([], clocks, doc.deleted);
  return answers.deletions;
}

/** Base64 of the SHA-256 of the document's Yjs snapshot, by which SDK clients tell that they are in step (protocol 9.1). */
export function snapshotHash(doc: Ydoc): string {
  const answers = answersOf(doc);
  answers.hash ??= computeHash(doc);
  return answers.hash;
}

function computeHash(doc: Ydoc): string {
  const settled = doc.live === null && doc.tail.ends.length === 0 && doc.pendingBytes === 0 ? scanBase(doc) : null;
  // A base is written by Yjs with its canonical delete set: that and the state vector are the snapshot.
  if (settled !== null) return sha256Base64(concat([doc.base.subarray(settled.deletesAt), stateVector(doc)]));
  return sha256Base64(Y.encodeSnapshot(Y.snapshot(materialise(doc))));
}

/** The whole document as one V1 update, compacted, with what still waits; `decodeYdoc` reads it back. */
export function encodeYdoc(doc: Ydoc): Uint8Array {
  compactYdoc(doc);
  return doc.base;
}

/** What a reader of the bytes would find out, kept beside them: vector, delete set, the bounds of its nesting and of the documents in it, its roots, and of its items. */
export type YdocFacts = readonly [
  vector: Uint8Array,
  deleted: Uint8Array,
  nestingBound: number,
  documents?: number,
  roots?: readonly string[],
  items?: number,
];

/** Of a document as `encodeYdoc` has just left it. Null when its bytes have to be read all the same, because something in them waits. */
export function factsOf(doc: Ydoc): YdocFacts | null {
  if (doc.pendingBytes > 0 || !Number.isSafeInteger(doc.nestingBound)) return null;
  return [
    encodeVector(doc.known),
    encodeDeleted(doc.deleted),
    doc.nestingBound,
    doc.documents,
    [...doc.roots],
    doc.crowding.items,
  ];
}

/** @param bytes from `encodeYdoc`, with the facts of that moment: without them all is read. @throws AppError ROOM_UNREADABLE */
export function decodeYdoc(bytes: Uint8Array, facts: YdocFacts | null = null): Ydoc {
  return facts === null ? readYdoc(bytes) : ydocWith(bytes, facts);
}

/** Megabytes that are woken to be sent to somebody need not be looked at. */
function ydocWith(bytes: Uint8Array, facts: YdocFacts): Ydoc {
  const [vector, deleted, nestingBound, documents = 0, names = [], items = itemsInBytes(bytes)] = facts;
  const roots = new SmallSet(names);
  const known = new SmallMap(decodeVector(vector));
  const crowding = crowdingOf(items);
  return { ...emptyYdoc(), base: bytes, known, deleted: decodeDeleted(deleted), nestingBound, documents, roots, crowding };
}

function readYdoc(bytes: Uint8Array): Ydoc {
  const doc = emptyYdoc();
  const scanned = scanStored(bytes);
  doc.base = bytes;
  doc.baseScan = scanned;
  doc.crowding.items = scanned === null ? itemsInBytes(bytes) : structsOf(scanned);
  note(doc, scanned);
  const reach = scanned === null ? null : reachOf(doc.known, scanned);
  // Unless something in them waits, Yjs wrote these bytes of what it had integrated: what they hold themselves counts as known.
  if (scanned !== null && reach !== null && isReady(reach.clocks, scanned, reach)) advance(doc.known, scanned);
  else materialise(doc);
  return doc;
}

/** Gives back the memory that can be had again from the bytes. */
export function releaseYdoc(doc: Ydoc): void {
  doc.live = null;
  doc.answers = null;
}

/** Bytes that the document takes at rest. */
export function ydocBytes(doc: Ydoc): number {
  return doc.base.length + tailBytes(doc.tail);
}

/**
 * The update with its deleted ranges in order, and without empty ones.
 *
 * Yjs makes room in an array for each range that begins or ends within a struct: for ranges that ascend, as it writes them itself, near its
 * end; for others before all that came so far, which makes 150 KB of them take it many seconds.
 */
function deletesInOrder(update: Uint8Array, { deletes, deletesAt, isInOrder }: ScannedUpdate): Uint8Array {
  if (isInOrder) return update;
  const deleted: Deleted = new Map();
  noteDeletes(deleted, { deletes });
  return concat([update.subarray(0, deletesAt), encodeDeleted(deleted)]);
}

/** @throws AppError YJS_UPDATE_INVALID */
function checkRoots(doc: Ydoc, { roots }: ScannedUpdate, { rootsMax }: YdocLimits): void {
  if (doc.roots.size + roots.size <= rootsMax) return;
  let after = doc.roots.size;
  for (const root of roots) if (!doc.roots.has(root)) after += 1;
  if (after > Math.max(rootsMax, doc.roots.size)) throw invalidUpdate(`a document has at most ${rootsMax} roots`);
}

/** Those of the document are counted anew when there may be too many. @throws AppError YJS_UPDATE_INVALID */
function checkItems(doc: Ydoc, scanned: ScannedUpdate, { itemsMax }: YdocLimits): void {
  if (doc.crowding.items + itemsOf(scanned) <= itemsMax) return;
  const spans = scanned.spans.filter(({ client, to }) => to > (doc.known.get(client) ?? 0));
  if (spans.length === 0) return;
  materialise(doc);
  if (doc.crowding.items + structsOf({ spans }) > itemsMax) throw invalidUpdate(`a document has at most ${itemsMax} items`);
}

interface Plain {
  readonly scanned: ScannedUpdate;
  readonly added: Added;
  readonly limits: YdocLimits;
}

function append(doc: Ydoc, update: Uint8Array, { scanned, added, limits }: Plain): void {
  pushTail(doc.tail, update);
  advance(doc.known, scanned);
  doc.nestingBound += scanned.nestedTypes;
  doc.crowding.items += added.items;
  doc.crowding.risk += added.risk;
  noteFree(doc.free, scanned, doc.known, limits.freeClientsMax);
}

/** Notes what the scan of stored bytes tells whether they are complete or not. */
function note(doc: Ydoc, scanned: ScannedUpdate | null): void {
  if (scanned !== null) noteDeletes(doc.deleted, scanned);
  doc.nestingBound += scanned?.nestedTypes ?? Number.POSITIVE_INFINITY;
  if (scanned === null) return;
  doc.documents += scanned.documents;
  for (const root of scanned.roots) doc.roots.add(root);
}

function scanBase(doc: Ydoc): ScannedUpdate | null {
  if (doc.baseScan === undefined) doc.baseScan = scanStored(doc.base);
  return doc.baseScan;
}

/** What lies after `vector`, joined from the bytes at hand; null when that takes a `Y.Doc`. */
function joinAfter(doc: Ydoc, vector: Vector): Uint8Array | null {
  const base = scanBase(doc);
  if (base === null) return null;
  const parts: Part[] = [{ bytes: doc.base, scanned: base }];
  for (let index = 0; index < doc.tail.ends.length; index += 1) {
    const scanned = tailScan(doc.tail, index);
    if (scanned === null) return null;
    parts.push({ bytes: tailUpdate(doc.tail, index), scanned });
  }
  return doc.pendingBytes > 0 ? joinWithGaps(parts, vector, doc.deleted) : joinUpdates(parts, vector, doc.deleted);
}

function isCovered(known: Vector, vector: Vector): boolean {
  for (const [client, clock] of known) if ((vector.get(client) ?? 0) < clock) return false;
  return true;
}
