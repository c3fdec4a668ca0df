/**
 * What waits in a `Y.Doc` for what has not come, and documents written with it. Yjs merges it into what is here by reading both again, which takes
 * as long as to make the document anew; here its bytes are put behind those.
 */
import * as Y from 'yjs';
import type { Deleted } from './deleted.ts';
import { joinWithGaps, type Part } from './join.ts';
import { emptyReplica } from './replica.ts';
import { scanStored } from './scan.ts';
import { noteDeletes } from './state.ts';
import { decodeVector, type Vector } from './vector.ts';

type Store = Y.Doc['store'];

const NOTHING: Vector = new Map();
const NO_PARTS: readonly Part[] = [];

/** By client, the clock behind the last struct that waits, by the bytes that wait. */
const ends = new WeakMap<Uint8Array, Vector>();
/** What waits, in V1, by the bytes in V2; null when it cannot be read. */
const readings = new WeakMap<Uint8Array, Part | null>();

export function bytesWaiting({ pendingStructs, pendingDs }: Store): number {
  return (pendingStructs?.update.length ?? 0) + (pendingDs?.length ?? 0);
}

/** By client, the clock behind the last struct that waits; read once for the same bytes. */
export function waitingTo({ pendingStructs }: Store): Vector {
  if (pendingStructs === null) return NOTHING;
  const known = ends.get(pendingStructs.update);
  if (known !== undefined) return known;
  const { to } = Y.parseUpdateMetaV2(pendingStructs.update);
  ends.set(pendingStructs.update, to);
  return to;
}

/** What lies after `vector` as one V1 update, without what waits. */
export function encodeHere(ydoc: Y.Doc, vector: Uint8Array): Uint8Array {
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

/** The same with all that waits. Null when that cannot be read: nothing of it may reach a snapshot or a client. */
export function encodeAll(ydoc: Y.Doc, vector: Uint8Array): Uint8Array | null {
  const here = encodeHere(ydoc, vector);
  const waiting = partsWaiting(ydoc.store);
  if (waiting === null || waiting.length === 0) return waiting === null ? null : here;
  const scanned = scanStored(here);
  if (scanned === null) return null;
  const parts = [{ bytes: here, scanned }, ...waiting];
  const deleted: Deleted = new Map();
  for (const part of parts) noteDeletes(deleted, part.scanned);
  return joinWithGaps(parts, decodeVector(vector), deleted);
}

/** Null when something of it cannot be read. */
function partsWaiting({ pendingStructs, pendingDs }: Store): readonly Part[] | null {
  if (pendingStructs === null && pendingDs === null) return NO_PARTS;
  const parts: Part[] = [];
  for (const bytes of [pendingStructs?.update, pendingDs]) {
    if (!bytes) continue;
    const part = readings.get(bytes) ?? reading(bytes);
    readings.set(bytes, part);
    if (part === null) return null;
    parts.push(part);
  }
  return parts;
}

/** Structs of one client that contradict each other are merged by Yjs into bytes on which it throws itself when it reads them. */
function reading(bytesV2: Uint8Array): Part | null {
  try {
    const bytes = Y.convertUpdateFormatV2ToV1(bytesV2);
    Y.applyUpdate(emptyReplica({ gc: false }), bytes);
    const scanned = scanStored(bytes);
    return scanned === null ? null : { bytes, scanned };
  } catch {
    return null;
  }
}
