/**
 * What waits in a `Y.Doc` for what has not come, and documents written with it. Yjs merges it into what is here by reading both again, which takes
 * as long as to make the document anew; here its bytes are put behind those, wherever that says the same.
 */
import * as Y from 'yjs';
import type { Deleted } from './deleted.ts';
import { joinWithGaps, type Part } from './join.ts';
import { emptyReplica } from './replica.ts';
import { type ScannedUpdate, scanStored, weightOf } from './scan.ts';
import { noteDeletes } from './state.ts';
import { decodeVector, NO_CLOCKS, type Vector } from './vector.ts';

type Store = Y.Doc['store'];

/** By client, the clock behind the last struct that waits, by the bytes that wait. */
const ends = new WeakMap<Uint8Array, Vector>();

interface ScannedPart extends Part {
  readonly scanned: ScannedUpdate;
}

interface Reading {
  readonly structs: Uint8Array | undefined;
  readonly deletes: Uint8Array | null;
  /** Null when it cannot be read. */
  readonly part: ScannedPart | null;
}
/** What waited when it was read last. */
const readings = new WeakMap<Store, Reading>();

export function bytesWaiting({ pendingStructs, pendingDs }: Store): number {
  return (pendingStructs?.update.length ?? 0) + (pendingDs?.length ?? 0);
}

/** By client, the clock behind the last struct that waits; read once for the same bytes. */
export function waitingTo({ pendingStructs }: Store): Vector {
  if (pendingStructs === null) return NO_CLOCKS;
  const known = ends.get(pendingStructs.update);
  if (known !== undefined) return known;
  const { to } = Y.parseUpdateMetaV2(pendingStructs.update);
  ends.set(pendingStructs.update, to);
  return to;
}

/** Structs that wait, weighed; none are counted of what cannot be read. */
export function structsWaiting(store: Store): number {
  return weightOf(partWaiting(store)?.scanned.spans ?? []);
}

/** What lies after `vector` as one V1 update, with all that waits. Null when that takes more than moving bytes. */
export function encodeJoined(ydoc: Y.Doc, vector: Uint8Array): Uint8Array | null {
  const { store } = ydoc;
  if (bytesWaiting(store) === 0) return Y.encodeStateAsUpdate(ydoc, vector);
  const waiting = partWaiting(store);
  if (waiting === null) return null;
  const bytes = encodeHere(ydoc, vector);
  const scanned = scanStored(bytes);
  if (scanned === null) return null;
  const deleted: Deleted = new Map();
  for (const { deletes } of [scanned, waiting.scanned]) noteDeletes(deleted, { deletes });
  return joinWithGaps([{ bytes, scanned }, waiting], decodeVector(vector), deleted);
}

/**
 * The same as Yjs merges it, read once more to see whether it can be. Null when it cannot: structs of one client that contradict each other are merged
 * into bytes on which Yjs throws itself. Nothing of that may reach a snapshot or a client.
 */
export function encodeMerged(ydoc: Y.Doc, vector: Uint8Array): Uint8Array | null {
  try {
    const update = Y.encodeStateAsUpdate(ydoc, vector);
    Y.applyUpdate(emptyReplica({ gc: false }), update);
    return scanStored(update) === null ? null : update;
  } catch {
    return null;
  }
}

function encodeHere(ydoc: Y.Doc, vector: Uint8Array): Uint8Array {
  const { store } = ydoc;
  const { pendingStructs, pendingDs } = store;
  store.pendingStructs = null;
  store.pendingDs = null;
  try {
    return Y.encodeStateAsUpdate(ydoc, vector);
  } finally {
    store.pendingStructs = pendingStructs;
    store.pendingDs = pendingDs;
  }
}

/** All that waits as one V1 update; null when it cannot be read. */
function partWaiting(store: Store): ScannedPart | null {
  const { pendingStructs, pendingDs: deletes } = store;
  const structs = pendingStructs?.update;
  const known = readings.get(store);
  if (known !== undefined && known.structs === structs && known.deletes === deletes) return known.part;
  const part = readWaiting([structs, deletes].filter((bytes) => bytes != null));
  readings.set(store, { structs, deletes, part });
  return part;
}

function readWaiting(updatesV2: Uint8Array[]): ScannedPart | null {
  try {
    const bytes = Y.convertUpdateFormatV2ToV1(Y.mergeUpdatesV2(updatesV2));
    Y.applyUpdate(emptyReplica({ gc: false }), bytes);
    const scanned = scanStored(bytes);
    return scanned === null ? null : { bytes, scanned };
  } catch {
    return null;
  }
}
