/**
 * The `Y.Doc` behind a document: made when first needed, brought up to date by what has arrived since. It may be thrown away: the bytes say it all.
 *
 * It is a replica that never edits: not even Yjs' own tidying of formatting marks may run in it, because deletions that no client
 * made would set its snapshot hash apart from theirs for good.
 */
import * as Y from 'yjs';
import { AppError } from '../../base/errors.ts';
import './joined-values.ts';

import { isLongToWrite } from './long.ts';
import { emptyReplica } from './replica.ts';
import { emptyTail, type Live, tailUpdate, type Ydoc } from './state.ts';
import { metered, StepMeter } from './steps.ts';
import { NO_CLOCKS, type Vector } from './vector.ts';
import { bytesWaiting, encodeJoined, encodeMerged, waitingTo } from './waiting.ts';
import { Writing } from './writing.ts';

const EMPTY_VECTOR = Uint8Array.of(0);

/**
 * The document as a `Y.Doc` that holds everything, pending structs included. To be read, not kept: the next change may
 * replace it.
 * @param meter of an update that is tried, when all but that is in it already; what is stored is read whatever steps it takes
 * @throws AppError ROOM_UNREADABLE when Yjs cannot read what was stored, YJS_UPDATE_CROWDED when the meter says so.
 */
export function materialise(doc: Ydoc, meter: StepMeter = new StepMeter()): Y.Doc {
  const { live, tail } = doc;
  if (live !== null && live.drained === tail.ends.length) return live.ydoc;
  // Whatever happens, a Y.Doc in which Yjs threw is not used again.
  doc.live = null;
  const ydoc = bringUpToDate(doc, live, meter) ?? rebuild(doc);
  if (live === null) beginLive(doc, ydoc, 0);
  noteDrained(doc, ydoc, meter.steps);
  return ydoc;
}

/** This is its `Y.Doc` from now on: all of the base is in it, which took so many steps, and of the tail nothing for certain. */
export function beginLive(doc: Ydoc, ydoc: Y.Doc, steps: number): void {
  doc.live = { ydoc, drained: 0 };
  if (doc.writing?.ydoc !== ydoc) doc.writing = null;
  for (const root of ydoc.share.keys()) doc.roots.add(root);
  doc.crowding.steps = steps;
}

/** All of the document is in its `Y.Doc` now, for which the last of the tail took so many steps: what is known of it is what that says. */
export function noteDrained(doc: Ydoc, ydoc: Y.Doc, steps: number): void {
  const { crowding } = doc;
  doc.live = { ydoc, drained: doc.tail.ends.length };
  doc.known = vectorOf(ydoc);
  doc.pendingBytes = bytesWaiting(ydoc.store);
  doc.documents = ydoc.subdocs.size;
  crowding.items = itemsOf(ydoc);
  crowding.risk = 0;
  crowding.steps += steps;
  if (doc.pendingBytes === 0) crowding.waiting = 0;
}

/** Null when Yjs throws: `rebuild` finds out at what. */
function bringUpToDate({ base, tail }: Ydoc, live: Live | null, meter: StepMeter): Y.Doc | null {
  const ydoc = live?.ydoc ?? emptyReplica({ gc: true });
  try {
    // One transaction: observers, garbage collection and merging run once instead of once an update.
    const apply = (): void => {
      if (live === null) Y.applyUpdate(ydoc, base);
      for (let index = live?.drained ?? 0; index < tail.ends.length; index += 1) Y.applyUpdate(ydoc, tailUpdate(tail, index));
    };
    metered(meter, () => ydoc.transact(apply));
    return ydoc;
  } catch {
    // Yjs tidies up when something was thrown, and may throw itself then. To read all that anew would take the very steps.
    if (meter.exceeded !== null) throw new AppError('YJS_UPDATE_CROWDED');
    return null;
  }
}

/**
 * The slow way, one update at a time, and without garbage collection: Yjs throws while it collects a map whose entry of
 * several values was split, long after it took the update. When it throws all the same, it may be for what waits: some
 * overlaps come to light only when the wait is over. That is dropped then. It was never part of the document, and whoever has
 * it will send it again; the update that ended the wait is someone else's and must not be lost with it.
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
      const reason = `Yjs says: ${error instanceof Error ? error.message : String(error)}`;
      if (!waits) throw new AppError('ROOM_UNREADABLE', { reason });
      dropsBefore.add(index);
    }
  }
}

/** Folds the updates since the last compaction into the base, and drops what was deleted. */
export function compactYdoc(doc: Ydoc): void {
  if (doc.tail.ends.length === 0) return;
  fold(doc, materialise(doc));
}

/** Forgets the structs that wait: they were never part of the document, and whoever has them will send them again. Notes who sent them. */
export function dropWaiting(doc: Ydoc): void {
  const ydoc = materialise(doc);
  noteDropped(doc, waitingTo(ydoc.store).keys());
  ydoc.store.pendingStructs = null;
  fold(doc, ydoc);
  doc.crowding.waiting = 0;
}

function noteDropped(doc: Ydoc, clients: Iterable<number>): void {
  for (const client of clients) {
    const writer = doc.writers.get(client);
    if (writer === undefined) continue;
    doc.dropped ??= new Set();
    doc.dropped.add(writer.session);
  }
}

/** Goes on writing it, for the next time that it is folded. */
export function writeAhead(doc: Ydoc): Writing | null {
  if (doc.live === null || !isLongToWrite(doc)) return null;
  if (doc.writing?.ydoc !== doc.live.ydoc) doc.writing = new Writing(doc.live.ydoc);
  return doc.writing;
}

function fold(doc: Ydoc, ydoc: Y.Doc): void {
  const written = doc.writing?.ydoc === ydoc && bytesWaiting(ydoc.store) === 0 ? doc.writing.finish() : null;
  const joined = written?.bytes ?? encodeJoined(ydoc, EMPTY_VECTOR);
  doc.base = joined ?? encodeMerged(ydoc, EMPTY_VECTOR) ?? withoutStructs(doc, ydoc);
  doc.baseScan = written?.scanned;
  doc.writing = null;
  doc.tail = emptyTail();
  doc.pendingBytes = bytesWaiting(ydoc.store);
  // What Yjs merged is no longer quite what this Y.Doc has: the next one is made from the bytes alone.
  doc.live = joined !== null || doc.pendingBytes === 0 ? { ydoc, drained: 0 } : null;
  doc.answers = null;
}

/** What waits spoils the encoding: it goes, as with `dropWaiting`. */
function withoutStructs(doc: Ydoc, ydoc: Y.Doc): Uint8Array {
  noteDropped(doc, waitingTo(ydoc.store).keys());
  ydoc.store.pendingStructs = null;
  return Y.encodeStateAsUpdate(ydoc);
}

/** What lies after `vector` as one V1 update, with what waits if that can be encoded. */
export function encodeAfter(doc: Ydoc, vector: Uint8Array): Uint8Array {
  const ydoc = materialise(doc);
  const update = encodeJoined(ydoc, vector) ?? encodeMerged(ydoc, vector);
  if (update !== null) return update;
  const { store } = ydoc;
  const { pendingStructs } = store;
  store.pendingStructs = null;
  const without = Y.encodeStateAsUpdate(ydoc, vector);
  store.pendingStructs = pendingStructs;
  return without;
}

/** Makes the bound of the document's nesting exact. A type stays as deep as it came: only what came since the last time is looked at. */
export function measureNesting(doc: Ydoc, ydoc: Y.Doc, depthMax: number): void {
  const { depth, upTo } = doc.measured ?? NOT_MEASURED;
  doc.nestingBound = Math.max(depth, nestingOf(ydoc, depthMax, upTo));
  doc.measured = { depth: doc.nestingBound, upTo: vectorOf(ydoc) };
}

const NOT_MEASURED = { depth: 1, upTo: NO_CLOCKS };

/** The depth of the deepest type after these clocks, at least 1: that of a type in a root. Stops counting beyond `depthMax`. */
export function nestingOf(ydoc: Y.Doc, depthMax: number, after: Vector = NO_CLOCKS): number {
  let deepest = 1;
  for (const [client, structs] of ydoc.store.clients) {
    const clock = after.get(client) ?? 0;
    if (clock >= Y.getState(ydoc.store, client)) continue;
    for (let at = Y.findIndexSS(structs, clock); at < structs.length; at += 1)
      deepest = Math.max(deepest, depthOf(structs[at]!, depthMax));
  }
  return deepest;
}

/** 0 for what is no type. */
function depthOf(struct: Y.Item | Y.GC, depthMax: number): number {
  if (!(struct instanceof Y.Item) || !(struct.content instanceof Y.ContentType)) return 0;
  let depth = 0;
  let item: Y.Item | null = struct;
  while (item !== null && depth <= depthMax) {
    item = (item.parent as Y.AbstractType<unknown>)._item;
    depth += 1;
  }
  return depth;
}

function vectorOf(ydoc: Y.Doc): Map<number, number> {
  const vector = new Map<number, number>();
  for (const client of ydoc.store.clients.keys()) vector.set(client, Y.getState(ydoc.store, client));
  return vector;
}

function itemsOf(ydoc: Y.Doc): number {
  let items = 0;
  for (const structs of ydoc.store.clients.values()) items += structs.length;
  return items;
}
