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
import { deletesSomething, emptyTail, type Live, popTail, pushTail, tailUpdate, type Ydoc } from './state.ts';
import type { Vector } from './vector.ts';

/**
 * The document as a `Y.Doc` that holds everything, pending structs included. To be read, not kept: the next change may replace it.
 * @throws AppError ROOM_UNREADABLE when Yjs cannot read what was stored.
 */
export function materialise(doc: Ydoc): Y.Doc {
  const { live, tail } = doc;
  if (live !== null && live.drained === tail.ends.length) return live.ydoc;
  // Whatever happens, a Y.Doc in which Yjs threw is not used again.
  doc.live = null;
  const ydoc = bringUpToDate(doc, live) ?? rebuild(doc);
  doc.live = { ydoc, drained: tail.ends.length };
  doc.known = vectorOf(ydoc);
  doc.pendingBytes = (ydoc.store.pendingStructs?.update.length ?? 0) + (ydoc.store.pendingDs?.length ?? 0);
  return ydoc;
}

/** Null when Yjs throws: `rebuild` finds out at what. */
function bringUpToDate({ base, tail }: Ydoc, live: Live | null): Y.Doc | null {
  const ydoc = live?.ydoc ?? emptyReplica({ gc: true });
  try {
    // One transaction: observers, garbage collection and merging run once instead of once an update.
    ydoc.transact(() => {
      if (live === null) Y.applyUpdate(ydoc, base);
      for (let index = live?.drained ?? 0; index < tail.ends.length; index += 1) Y.applyUpdate(ydoc, tailUpdate(tail, index));
    });
    return ydoc;
  } catch {
    return null;
  }
}

/**
 * The slow way, one update at a time, and without garbage collection: Yjs throws while it collects a map whose entry of several
 * values was split, long after it took the update. When it throws all the same, it may be for what waits: some overlaps come to
 * light only when the wait is over. That is dropped then. It was never part of the document, and whoever has it will send it again;
 * the update that ended the wait is someone else's and must not be lost with it.
 */
function rebuild({ base, tail }: Ydoc): Y.Doc {
  const dropsBefore = new Set<number>();
  for (;;) {
    const ydoc = emptyReplica({ gc: false });
    let index = -1;
    let waits = false;
    try {
      Y.applyUpdate(ydoc, base);
      for (index = 0; index < tail.ends.length; index += 1) {
        if (dropsBefore.has(index)) ydoc.store.pendingStructs = null;
        waits = ydoc.store.pendingStructs !== null;
        Y.applyUpdate(ydoc, tailUpdate(tail, index));
      }
      return ydoc;
    } catch (error) {
      if (!waits)
        throw new AppError('ROOM_UNREADABLE', { reason: `Yjs says: ${error instanceof Error ? error.message : String(error)}` });
      dropsBefore.add(index);
    }
  }
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
  if (doc.pendingBytes > limits.pendingBytesMax && doc.pendingBytes > before.pendingBytes) {
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
  readonly pendingBytes: number;
  readonly nestingBound: number;
  readonly structs: Y.Doc['store']['pendingStructs'];
  readonly deletes: Uint8Array | null;
}

function stateBefore(doc: Ydoc): Before {
  const { pendingStructs: structs, pendingDs: deletes } = materialise(doc).store;
  // Yjs changes its pending structs in place.
  const copy = structs === null ? null : { update: structs.update, missing: new Map(structs.missing) };
  return { known: doc.known, pendingBytes: doc.pendingBytes, nestingBound: doc.nestingBound, structs: copy, deletes };
}

/** Takes the last update back; `ydoc` is the Y.Doc when all that the update did was to wait in it. */
function takeBack(doc: Ydoc, before: Before, ydoc: Y.Doc | null): void {
  popTail(doc.tail);
  doc.known = before.known;
  doc.pendingBytes = before.pendingBytes;
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

/** The depth of the deepest type, at least 1: that of a type in a root. Stops counting beyond `depthMax`. */
export function nestingOf(ydoc: Y.Doc, depthMax: number): number {
  let deepest = 1;
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

function emptyReplica(options: { gc: boolean }): Y.Doc {
  const ydoc = new Y.Doc(options);
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
