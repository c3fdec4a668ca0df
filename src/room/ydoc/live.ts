/**
 * The `Y.Doc` behind a document: made when first needed, brought up to date by what has arrived since, thrown away at will.
 *
 * It is a replica that never edits: not even Yjs' own tidying of formatting marks may run in it, because deletions that no client
 * made would set its snapshot hash apart from theirs for good.
 */
import * as Y from 'yjs';
import { AppError } from '../../base/errors.ts';
import { invalidUpdate } from './byte-reader.ts';
import type { YdocLimits } from './limits.ts';
import type { ScannedUpdate } from './scan.ts';
import { deletesSomething, emptyTail, NOTHING_PENDING, type Pending, popTail, pushTail, tailUpdate, type Ydoc } from './state.ts';
import type { Vector } from './vector.ts';

/**
 * The document as a `Y.Doc` that holds everything, pending structs included. To be read, not kept: the next change may replace it.
 * @throws AppError ROOM_UNREADABLE when Yjs cannot read what was stored.
 */
export function materialise(doc: Ydoc): Y.Doc {
  const { live, tail } = doc;
  if (live !== null && live.drained === tail.ends.length) return live.ydoc;
  const ydoc = live?.ydoc ?? emptyReplica();
  doc.live = null;
  try {
    // One transaction: observers, garbage collection and merging run once instead of once an update.
    ydoc.transact(() => {
      if (live === null) Y.applyUpdate(ydoc, doc.base);
      for (let index = live?.drained ?? 0; index < tail.ends.length; index += 1) Y.applyUpdate(ydoc, tailUpdate(tail, index));
    });
  } catch (error) {
    throw new AppError('ROOM_UNREADABLE', { reason: `Yjs says: ${error instanceof Error ? error.message : String(error)}` });
  }
  doc.live = { ydoc, drained: tail.ends.length };
  doc.known = vectorOf(ydoc);
  doc.pending = pendingOf(ydoc);
  return ydoc;
}

/** Folds the tail into the base, without what was deleted. */
export function fold(doc: Ydoc): void {
  if (doc.tail.ends.length === 0) return;
  const ydoc = materialise(doc);
  doc.base = Y.encodeStateAsUpdate(ydoc);
  doc.baseScan = undefined;
  doc.tail = emptyTail();
  doc.live = { ydoc, drained: 0 };
  doc.whole = null;
}

/**
 * Takes an update whose effect only Yjs can tell: it waits for others, sets some free, or may nest too deeply. A refusal leaves the
 * document as it was.
 * @returns 'unchanged' when everything in it was here or waiting already.
 * @throws AppError YJS_UPDATE_INVALID
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
  // If it only waits, the Y.Doc is good again without it; else it must be built anew, and a flood would make that the price of a message.
  const onlyWaits = !deletes && isSameVector(before.known, doc.known);
  if (onlyWaits && isSamePending(before, ydoc)) {
    takeBack(doc, before, ydoc);
    return 'unchanged';
  }
  if (doc.pending.bytes > limits.pendingBytesMax && doc.pending.bytes > before.pending.bytes) {
    takeBack(doc, before, onlyWaits ? ydoc : null);
    throw invalidUpdate(`it waits for updates that have not come, and more than ${limits.pendingBytesMax} bytes would wait`);
  }
  doc.nestingBound += scanned.nestedTypes;
  if (doc.nestingBound > limits.nestingMax) doc.nestingBound = nestingOf(ydoc, limits.nestingMax);
  if (doc.nestingBound > limits.nestingMax) {
    takeBack(doc, before, null);
    throw invalidUpdate(`it nests types deeper than ${limits.nestingMax}`);
  }
  return 'changed';
}

interface Before {
  readonly known: Map<number, number>;
  readonly pending: Pending;
  readonly nestingBound: number;
  readonly structs: Y.Doc['store']['pendingStructs'];
  readonly deletes: Uint8Array | null;
}

function stateBefore(doc: Ydoc): Before {
  const { pendingStructs: structs, pendingDs: deletes } = materialise(doc).store;
  // Yjs changes its pending structs in place.
  const copy = structs === null ? null : { update: structs.update, missing: new Map(structs.missing) };
  return { known: doc.known, pending: doc.pending, nestingBound: doc.nestingBound, structs: copy, deletes };
}

/** Takes the last update back; `ydoc` is the Y.Doc when all that the update did was to wait in it. */
function takeBack(doc: Ydoc, before: Before, ydoc: Y.Doc | null): void {
  popTail(doc.tail);
  doc.known = before.known;
  doc.pending = before.pending;
  doc.nestingBound = before.nestingBound;
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

/** The depth of the deepest type; a type in a root has depth 1. Stops counting beyond `depthMax`. */
export function nestingOf(ydoc: Y.Doc, depthMax: number): number {
  let deepest = 0;
  for (const structs of ydoc.store.clients.values()) {
    for (const struct of structs) {
      if (!(struct instanceof Y.Item) || !(struct.content instanceof Y.ContentType)) continue;
      let depth = 0;
      for (let item: Y.Item | null = struct; item !== null && depth <= depthMax; depth += 1)
        item = (item.parent as Y.AbstractType<unknown>)._item;
      deepest = Math.max(deepest, depth);
    }
  }
  return deepest;
}

function emptyReplica(): Y.Doc {
  const ydoc = new Y.Doc();
  ydoc.on('afterTransaction', (transaction) => {
    transaction._needFormattingCleanup = false;
  });
  return ydoc;
}

function vectorOf(ydoc: Y.Doc): Map<number, number> {
  const vector = new Map<number, number>();
  for (const client of ydoc.store.clients.keys()) vector.set(client, Y.getState(ydoc.store, client));
  return vector;
}

function pendingOf({ store: { pendingStructs, pendingDs } }: Y.Doc): Pending {
  if (pendingStructs === null && pendingDs === null) return NOTHING_PENDING;
  return {
    bytes: (pendingStructs?.update.length ?? 0) + (pendingDs?.length ?? 0),
    waitsFor: new Set(pendingStructs?.missing.keys()),
  };
}
