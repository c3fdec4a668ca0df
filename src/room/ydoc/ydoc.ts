import { concat } from '../../base/binary.ts';
import { AppError } from '../../base/errors.ts';
import { SmallMap, SmallSet } from '../../base/small.ts';
import { invalidUpdate } from './byte-reader.ts';
import { type Added, addedBy, crowdingOf, isUncrowded, itemsInBytes, itemsOf, noteFree, structsOf } from './crowding.ts';
import { type Deleted, decodeDeleted, encodeDeleted } from './deleted.ts';
import { checkDeletedAdvance, checkLead, isHere, isReady, type Reach, reachOf } from './fit.ts';
import { YDOC_LIMITS, type YdocLimits } from './limits.ts';
import { compactYdoc, materialise } from './live.ts';
import { type Pieces, piecesOf } from './pieces.ts';
import { RANGE_NUMBERS, type ScannedUpdate, scanStored, scanUpdate } from './scan.ts';
import { advance, emptyTail, noteDeletes, pushTail, tailBytes, type Ydoc } from './state.ts';
import { type Tried, tooManyDocuments, tryUpdate } from './trial.ts';
import { decodeVector, encodeVector } from './vector.ts';
import { checkWriters, recordWriters, type Sender } from './writers.ts';

export { isAtHand, missingFor, missingForSession, snapshotHash, stateVector } from './answers.ts';
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
const _EMPTY_VECTOR = Uint8Array.of(0);

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
    writing: null,
    answers: null,
  };
}

/**
 * Takes a client's update, or refuses it before anything changed.
 * @throws AppError YJS_UPDATE_INVALID, YJS_UPDATE_EARLY, YJS_UPDATE_CROWDED, PAYLOAD_TOO_LARGE, YJS_CLIENT_ID_IN_USE, YJS_CLIENT_ID_HELD
 */
export function acceptUpdate(doc: Ydoc, sent: Uint8Array, from: Sender, limits: YdocLimits = YDOC_LIMITS): Accepted {
  const scanned = scanUpdate(sent, limits);
  const update = deletesInOrder(sent, scanned);
  const reach = checkFit(doc, update, { scanned, from, limits });
  if (isHere(doc, scanned)) return UNCHANGED;
  checkSize(doc, scanned, limits);
  // A plain update changes this very map, any other leaves it behind: what was known before is told from it while that is
  // still so.
  const { known } = doc;
  const tried = { scanned, reach, added: addedBy(scanned, doc.free) };
  const plain = isPlain(doc, tried, limits);
  if (!plain && tryUpdate(doc, update, tried, limits) === 'unchanged') return UNCHANGED;
  if (from.session !== null) recordWriters(doc.writers, scanned.spans, known, from.session, limits);
  if (plain) append(doc, update, { scanned, added: tried.added, limits });
  noteDeletes(doc.deleted, scanned);
  for (const root of scanned.roots) doc.roots.add(root);
  doc.answers = null;
  return { changed: true, journal: update };
}

/** Whether to take the update, or to refuse it, takes no `Y.Doc`. */
export function isTakenUnread(doc: Ydoc, sent: Uint8Array, limits: YdocLimits = YDOC_LIMITS): boolean {
  try {
    const scanned = scanUpdate(sent, limits);
    if (isHere(doc, scanned)) return true;
    return isPlain(doc, { scanned, reach: reachOf(doc.known, scanned), added: addedBy(scanned, doc.free) }, limits);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return true;
  }
}

/** Shorter ones are taken at once, and so are those of fewer structs and deleted ranges: in some 3 ms. */
const AT_ONCE_BYTES = 16 * 1024;
const AT_ONCE_ITEMS = 1_000;

/** Whether to take it may take long, whatever the document is. */
export function mayBeLong(update: Uint8Array): boolean {
  return update.length > AT_ONCE_BYTES;
}

interface LongUpdate {
  readonly guid: string;
  readonly update: Uint8Array;
  readonly from: Sender;
  readonly scanned: ScannedUpdate;
}

/**
 * A long update in pieces, to be taken one after the other; null when it is to be taken as it is. What it may not hold as a whole is refused now.
 * @param room of which the document may be replaced meanwhile
 * @throws AppError as `acceptUpdate`
 */
export function longUpdatePieces(
  room: { readonly ydocs: ReadonlyMap<string, Ydoc> },
  { guid, update, from, scanned }: LongUpdate,
  limits: YdocLimits = YDOC_LIMITS,
): Pieces | null {
  if (structsOf(scanned) + scanned.deletes.length / RANGE_NUMBERS <= AT_ONCE_ITEMS) return null;
  const docOf = (): Ydoc => room.ydocs.get(guid) ?? emptyYdoc();
  const doc = docOf();
  checkFit(doc, update, { scanned, from, limits });
  if (isHere(doc, scanned)) return null;
  checkSize(doc, scanned, limits);
  return piecesOf(update, scanned, (client) => docOf().known.get(client) ?? 0);
}

interface Fit {
  readonly scanned: ScannedUpdate;
  readonly from: Sender;
  readonly limits: YdocLimits;
}

/** @throws AppError YJS_UPDATE_INVALID, PAYLOAD_TOO_LARGE, YJS_CLIENT_ID_IN_USE, YJS_CLIENT_ID_HELD */
function checkFit(doc: Ydoc, update: Uint8Array, { scanned, from, limits }: Fit): Reach {
  if (ydocBytes(doc) + update.length > limits.documentBytesMax) {
    throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The Yjs document with this update', bytesMax: limits.documentBytesMax });
  }
  const reach = reachOf(doc.known, scanned);
  checkLead(doc.known, scanned, reach, limits);
  if (from.session !== null) checkDeletedAdvance(doc.known, scanned, limits);
  checkWriters(doc.writers, scanned.spans, doc.known, from, limits);
  return reach;
}

/** @throws AppError YJS_UPDATE_INVALID */
function checkSize(doc: Ydoc, scanned: ScannedUpdate, limits: YdocLimits): void {
  if (scanned.documents > limits.documentsMax) throw tooManyDocuments(limits);
  checkRoots(doc, scanned, limits);
  checkItems(doc, scanned, limits);
}

/** Whether Yjs is certain to take all of it at once, without taking long, so that it need only be kept. */
function isPlain(doc: Ydoc, { scanned, reach, added }: Tried, limits: YdocLimits): boolean {
  const isShallow = doc.nestingBound + scanned.nestedTypes <= limits.nestingMax;
  const isRoomy = scanned.documents === 0 || doc.documents + scanned.documents <= limits.documentsMax;
  if (!isShallow || !isRoomy || doc.pendingBytes > 0) return false;
  return isUncrowded(doc.crowding, added, limits) && isReady(doc.known, scanned, reach);
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
  doc.writing = null;
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
  doc.documents += scanned.documents;
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
