/**
 * Updates whose effect only Yjs can tell: they are tried on the document, and taken back when they turn out to be what may
 * not enter.
 */
import type * as Y from 'yjs';
import { AppError } from '../../base/errors.ts';
import { invalidUpdate } from './byte-reader.ts';
import type { YdocLimits } from './limits.ts';
import { materialise, measureNesting } from './live.ts';
import type { ScannedUpdate } from './scan.ts';
import { deletesSomething, popTail, pushTail, type Ydoc } from './state.ts';
import type { Vector } from './vector.ts';

/**
 * Takes an update that waits for others, sets some free, overlaps, or may nest too deeply. A refusal leaves the document as
 * it was.
 * @returns 'unchanged' when everything in it was here or waiting already.
 * @throws AppError YJS_UPDATE_INVALID, or YJS_UPDATE_EARLY when more would wait than may
 */
export function tryUpdate(doc: Ydoc, update: Uint8Array, scanned: ScannedUpdate, limits: YdocLimits): 'changed' | 'unchanged' {
  const before = stateBefore(doc);
  const deletes = deletesSomething(doc, scanned);
  pushTail(doc.tail, update);
  let ydoc: Y.Doc;
  try {
    ydoc = materialise(doc);
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    takeBack(doc, before, null);
    throw invalidUpdate(String(error.facts.reason));
  }
  // If it only waits, the Y.Doc is good again without it; else it must be built anew, and a flood would make that the price
  // of a message.
  const onlyWaits = !deletes && isSameVector(before.known, doc.known);
  if (onlyWaits && isSamePending(before, ydoc)) {
    takeBack(doc, before, ydoc);
    return 'unchanged';
  }
  if (doc.pendingBytes > limits.pendingBytesMax && doc.pendingBytes > before.pendingBytes) {
    takeBack(doc, before, onlyWaits ? ydoc : null);
    throw new AppError('YJS_UPDATE_EARLY', { pendingBytesMax: limits.pendingBytesMax });
  }
  doc.nestingBound += scanned.nestedTypes;
  if (doc.nestingBound > limits.nestingMax) measureNesting(doc, ydoc, limits.nestingMax);
  if (doc.nestingBound > limits.nestingMax) {
    takeBack(doc, before, null);
    throw invalidUpdate(`it nests types deeper than ${limits.nestingMax}`);
  }
  return 'changed';
}

interface Before {
  readonly known: Map<number, number>;
  readonly pendingBytes: number;
  readonly nestingBound: number;
  readonly measured: Ydoc['measured'];
  readonly structs: Y.Doc['store']['pendingStructs'];
  readonly deletes: Uint8Array | null;
}

function stateBefore(doc: Ydoc): Before {
  const { pendingStructs: structs, pendingDs: deletes } = materialise(doc).store;
  // Yjs changes its pending structs in place.
  const copy = structs === null ? null : { update: structs.update, missing: new Map(structs.missing) };
  const { known, pendingBytes, nestingBound, measured } = doc;
  return { known, pendingBytes, nestingBound, measured, structs: copy, deletes };
}

/** Takes the last update back; `ydoc` is the Y.Doc when all that the update did was to wait in it. */
function takeBack(doc: Ydoc, before: Before, ydoc: Y.Doc | null): void {
  popTail(doc.tail);
  doc.known = before.known;
  doc.pendingBytes = before.pendingBytes;
  doc.nestingBound = before.nestingBound;
  doc.measured = before.measured;
  doc.live = ydoc === null ? null : { ydoc, drained: doc.tail.ends.length };
  if (ydoc === null) return;
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
