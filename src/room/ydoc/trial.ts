/**
 * Updates whose effect only Yjs can tell: they are tried on the document, and taken back when they turn out to be what may
 * not enter.
 */
import type * as Y from 'yjs';
import { AppError } from '../../base/errors.ts';
import { invalidUpdate } from './byte-reader.ts';
import { type Added, type Crowding, mayWait, noteFree, stepsLeft } from './crowding.ts';
import { arrivalOf, type Reach, rangesAhead, reachesBeyond, waitsWhole } from './fit.ts';
import type { YdocLimits } from './limits.ts';
import { dropWaiting, materialise, measureNesting } from './live.ts';
import { RANGE_BYTES_MIN, type ScannedUpdate, weightOf } from './scan.ts';
import { deletesSomething, popTail, pushTail, type Ydoc } from './state.ts';
import { StepMeter } from './steps.ts';
import { NO_CLOCKS, type Vector } from './vector.ts';
import { structsWaiting, waitingTo } from './waiting.ts';

/**
 * Takes an update that waits for others, sets some free, overlaps, may nest too deeply, or may take Yjs long. A refusal leaves the document as
 * it was.
 * @returns 'unchanged' when everything in it was here or waiting already.
 * @throws AppError YJS_UPDATE_INVALID, YJS_UPDATE_CROWDED, or YJS_UPDATE_EARLY when more would wait than may
 */
export function tryUpdate(doc: Ydoc, update: Uint8Array, tried: Tried, limits: YdocLimits): 'changed' | 'unchanged' {
  const { scanned, added } = tried;
  const tooMuchUntried = tooMuchAhead(doc, update, tried, limits);
  if (tooMuchUntried !== null) throw early({ tooMuch: tooMuchUntried });
  const before = stateBefore(doc);
  const meter = meterOf(doc, tried, limits);
  const deletes = deletesSomething(doc, scanned);
  pushTail(doc.tail, update);
  let ydoc: Y.Doc;
  try {
    ydoc = materialise(doc, meter);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    takeBack(doc, before, null);
    if (meter.exceeded === 'own') throw error;
    if (meter.exceeded === 'freed') return withoutWaiting(doc, update, tried, limits);
    throw invalidUpdate(String(error.facts.reason));
  }
  // If it only waits, the Y.Doc is good again without it; else it must be built anew, and a flood would make that the price
  // of a message.
  const onlyWaits = !deletes && isSameVector(before.known, doc.known);
  if (onlyWaits && isSamePending(before, ydoc)) {
    takeBack(doc, before, ydoc);
    return 'unchanged';
  }
  if (doc.pendingBytes > before.pendingBytes) doc.crowding.waiting += added.risk;
  const tooMuch = tooMuchMore(doc, before, ydoc, limits);
  if (tooMuch !== null) {
    takeBack(doc, before, onlyWaits ? ydoc : null);
    throw early({ tooMuch: tooMuch.words, isCostly: !onlyWaits || tooMuch.tookLong });
  }
  if (doc.documents > Math.max(limits.documentsMax, before.documents)) {
    takeBack(doc, before, null);
    const isOfWaiting = before.pendingBytes > 0 && before.documents + scanned.documents <= limits.documentsMax;
    if (isOfWaiting) return withoutWaiting(doc, update, tried, limits);
    throw tooManyDocuments(limits);
  }
  const frees = before.structs !== null && setsFree(doc, before, tried.reach);
  doc.nestingBound += scanned.nestedTypes;
  // Types that waited were counted when they came, and may have been forgotten since.
  if (doc.nestingBound > limits.nestingMax || frees) measureNesting(doc, ydoc, limits.nestingMax);
  if (doc.nestingBound > limits.nestingMax) {
    takeBack(doc, before, null);
    if (frees) return withoutWaiting(doc, update, tried, limits);
    throw invalidUpdate(`it nests types deeper than ${limits.nestingMax}`);
  }
  if (before.pendingBytes > 0 || doc.pendingBytes > 0) doc.free.clear();
  else noteFree(doc.free, scanned, doc.known, limits.freeClientsMax);
  return 'changed';
}

/**
 * What would wait that may not, as words, as far as that is certain without a try, which takes Yjs as long as all that waits is: too many structs or
 * deletions, and what only waits, and is too long beside all that waits already. What waits already may come again.
 */
function tooMuchAhead(doc: Ydoc, update: Uint8Array, { scanned, reach }: Tried, limits: YdocLimits): string | null {
  const { known, pendingBytes } = doc;
  const store = pendingBytes === 0 ? null : materialise(doc).store;
  const waiting = store === null ? NO_CLOCKS : waitingTo(store);
  const arrival = arrivalOf(known, scanned, reach, waiting);
  const more = arrival.waits.filter(({ client, from }) => from >= (waiting.get(client) ?? 0)); // else Yjs tells what is new
  if (more.length > 0 && weightOf(more) + (store === null ? 0 : structsWaiting(store)) > limits.waitingStructsMax)
    return tooManyStructs(limits);
  const bytesAhead = RANGE_BYTES_MIN * rangesAhead(doc, scanned, arrival);
  if (bytesAhead > limits.pendingDeletesBytesMax) return tooManyDeletions(limits);
  if (store === null || !waitsWhole(known, scanned)) return null;
  if (pendingBytes + update.length > limits.pendingBytesMax && reachesBeyond(waiting, scanned)) return tooManyBytes(limits);
  if (bytesAhead === 0) return null;
  return bytesOf(store.pendingDs) + bytesAhead > limits.pendingDeletesBytesMax ? tooManyDeletions(limits) : null;
}

/** What is tried, and what is known of it before. */
export interface Tried {
  readonly scanned: ScannedUpdate;
  readonly reach: Reach;
  readonly added: Added;
}

function meterOf({ crowding }: Ydoc, { reach }: Tried, limits: YdocLimits): StepMeter {
  const ownMax = Math.min(limits.updateStepsMax, stepsLeft(crowding, limits));
  return new StepMeter({ own: reach.clocks, ownMax, freedMax: limits.freedStepsMax });
}

/** Whether more of a client is here now than was, or came with the update. */
function setsFree({ known }: Ydoc, before: Before, { clocks }: Reach): boolean {
  for (const [client, clock] of known) if (clock > (clocks.get(client) ?? before.known.get(client) ?? 0)) return true;
  return false;
}

/** What waited is too much, and that is not the fault of the update that would end the wait. */
function withoutWaiting(doc: Ydoc, update: Uint8Array, tried: Tried, limits: YdocLimits): 'changed' | 'unchanged' {
  dropWaiting(doc);
  return tryUpdate(doc, update, tried, limits);
}

interface TooMuch {
  readonly words: string;
  /** Whether the try was longer than what a bound of bytes allows. */
  readonly tookLong: boolean;
}

/** What waits that may not; null when all may, or it is no more than before. */
function tooMuchMore(doc: Ydoc, before: Before, { store }: Y.Doc, limits: YdocLimits): TooMuch | null {
  const deletes = bytesOf(store.pendingDs);
  if (deletes > bytesOf(before.deletes) && deletes > limits.pendingDeletesBytesMax)
    return { words: tooManyDeletions(limits), tookLong: false };
  if (doc.pendingBytes <= before.pendingBytes) return null;
  if (doc.pendingBytes > limits.pendingBytesMax) return { words: tooManyBytes(limits), tookLong: false };
  if (store.pendingStructs?.update !== before.structs?.update && structsWaiting(store) > limits.waitingStructsMax)
    return { words: tooManyStructs(limits), tookLong: true };
  return mayWait(doc.crowding, limits) ? null : { words: 'too much at places where others write', tookLong: false };
}

const tooManyBytes = ({ pendingBytesMax }: YdocLimits): string => `more than ${pendingBytesMax} bytes`;
const tooManyStructs = ({ waitingStructsMax }: YdocLimits): string => `more than ${waitingStructsMax} structs`;
const tooManyDeletions = ({ pendingDeletesBytesMax }: YdocLimits): string =>
  `more than ${pendingDeletesBytesMax} bytes of deletions`;

const bytesOf = (bytes: Uint8Array | null): number => bytes?.length ?? 0;

export function tooManyDocuments({ documentsMax }: YdocLimits): AppError {
  return invalidUpdate(`a document holds at most ${documentsMax} others`);
}

/** Costly when the `Y.Doc` must be made anew without the update. */
function early(facts: { readonly tooMuch: string; readonly isCostly?: boolean }): AppError {
  return new AppError('YJS_UPDATE_EARLY', facts);
}

interface Before {
  readonly known: Map<number, number>;
  readonly pendingBytes: number;
  readonly nestingBound: number;
  readonly measured: Ydoc['measured'];
  readonly documents: number;
  readonly roots: Ydoc['roots'];
  readonly crowding: Crowding;
  readonly structs: Y.Doc['store']['pendingStructs'];
  readonly deletes: Uint8Array | null;
}

function stateBefore(doc: Ydoc): Before {
  const { pendingStructs: structs, pendingDs: deletes } = materialise(doc).store;
  // Yjs changes its pending structs in place.
  const copy = structs === null ? null : { update: structs.update, missing: new Map(structs.missing) };
  const { known, pendingBytes, nestingBound, measured, documents, roots } = doc;
  return { known, pendingBytes, nestingBound, measured, documents, roots, crowding: { ...doc.crowding }, structs: copy, deletes };
}

/** Takes the last update back; `ydoc` is the Y.Doc when all that the update did was to wait in it. */
function takeBack(doc: Ydoc, before: Before, ydoc: Y.Doc | null): void {
  popTail(doc.tail);
  doc.known = before.known;
  doc.pendingBytes = before.pendingBytes;
  doc.nestingBound = before.nestingBound;
  doc.measured = before.measured;
  doc.documents = before.documents;
  doc.roots = before.roots;
  doc.crowding = before.crowding;
  doc.live = ydoc === null ? null : { ydoc, drained: doc.tail.ends.length };
  if (ydoc === null) {
    doc.writing = null; // of a Y.Doc that has the update
    return;
  }
  ydoc.store.pendingStructs = before.structs;
  ydoc.store.pendingDs = before.deletes;
}

function isSameVector(one: Vector, other: Vector): boolean {
  if (one.size !== other.size) return false;
  for (const [client, clock] of one) if (other.get(client) !== clock) return false;
  return true;
}

function isSamePending(before: Before, { store }: Y.Doc): boolean {
  return isSame(before.structs?.update, store.pendingStructs?.update) && isSame(before.deletes, store.pendingDs);
}

function isSame(one: Uint8Array | null | undefined, other: Uint8Array | null | undefined): boolean {
  if (!one || !other) return !one && !other;
  return Buffer.compare(one, other) === 0;
}
