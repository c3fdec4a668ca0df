/**
 * What a document answers: its vector, what somebody lacks of it, its hash. Told from the bytes at hand where that can be, and once for all who ask until it
 * changes.
 */
import * as Y from 'yjs';
import { concat } from '../../base/binary.ts';
import type { SessionId } from '../../base/ids.ts';
import { sha256Base64 } from '../../base/sha256.ts';
import type { YdocEncoding } from '../../protocol/client-messages.ts';
import { encodeDeletesV2 } from './deleted.ts';
import { joinUpdates, joinWithGaps, type Part } from './join.ts';
import { YDOC_LIMITS, type YdocLimits } from './limits.ts';
import { compactYdoc, encodeAfter, materialise } from './live.ts';
import type { WholeScan } from './scan.ts';
import { answersOf, scanBase, tailScan, tailUpdate, type Ydoc } from './state.ts';
import { decodeKnownOf, encodeVector, type Vector } from './vector.ts';

/** Of a client that has nothing. */
const EMPTY_VECTOR = Uint8Array.of(0);

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
  const clocks = decodeKnownOf(doc.known, vector);
  return sharedFor(doc, clocks) ?? joinAfter(doc, clocks) ?? encodeAfter(doc, encodeVector(clocks));
}

/**
 * The same for a session that asks by itself. One that goes on asking for parts with nothing changed gets the whole document, which all
 * share: it holds what is missing, too, and takes no computing.
 * @param clocks what it has of clients that the document knows
 */
export function missingForSession(doc: Ydoc, clocks: Vector, session: SessionId, limits: YdocLimits = YDOC_LIMITS): Uint8Array {
  const shared = sharedFor(doc, clocks);
  if (shared !== null) return shared;
  const { partly } = answersOf(doc);
  const times = partly.get(session) ?? 0;
  if (times >= limits.partlyAnswersMax) return missingFor(doc, EMPTY_VECTOR);
  partly.set(session, times + 1);
  return joinAfter(doc, clocks) ?? encodeAfter(doc, encodeVector(clocks));
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
export function snapshotHash(doc: Ydoc, encoding: YdocEncoding = 'V1'): string {
  const answers = answersOf(doc);
  if (encoding === 'V2') {
    answers.hashInV2 ??= computeHash(doc, encoding);
    return answers.hashInV2;
  }
  answers.hash ??= computeHash(doc, encoding);
  return answers.hash;
}

function settledScan(doc: Ydoc): WholeScan | null {
  return doc.live === null && doc.tail.ends.length === 0 && doc.pendingBytes === 0 ? scanBase(doc) : null;
}

function computeHash(doc: Ydoc, encoding: YdocEncoding): string {
  const settled = settledScan(doc);
  if (settled === null) {
    const snapshot = Y.snapshot(materialise(doc));
    return sha256Base64(encoding === 'V1' ? Y.encodeSnapshot(snapshot) : Y.encodeSnapshotV2(snapshot));
  }
  // A base is written by Yjs with its canonical delete set: that and the state vector are the snapshot.
  const deletes = encoding === 'V1' ? doc.base.subarray(settled.deletesAt) : encodeDeletesV2(settled.deletes);
  return sha256Base64(concat([deletes, stateVector(doc)]));
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
