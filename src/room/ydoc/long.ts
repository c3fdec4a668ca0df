/** What takes long with a document, so that it is done ahead, a piece at a time (`documents-ahead.ts`). */
import { YDOC_LIMITS } from './limits.ts';
import { isUnfolded, tailBytes, type Ydoc } from './state.ts';

/** What is done with a document: its bytes are scanned, they are read into a `Y.Doc`, or that is read and written anew. */
export type YdocStep = 'scan' | 'read' | 'write';

/** Less takes a millisecond to scan. */
const SCANNED_AT_ONCE_BYTES = 64 * 1024;
/** Less, or fewer items, take some 3 ms to read. */
const READ_AT_ONCE_BYTES = 16 * 1024;
const READ_AT_ONCE_ITEMS = 1_000;
/** Fewer items take some 4 ms to write. */
const WRITTEN_AT_ONCE_ITEMS = 10_000;

const NO_STEPS: readonly YdocStep[] = [];

export function isLongStep(doc: Ydoc, step: YdocStep): boolean {
  if (step === 'scan') return isLongToScan(doc);
  return step === 'read' ? isLongToRead(doc) : isUnfolded(doc) && (isLongToRead(doc) || isLongToWrite(doc));
}

function isLongToScan({ base, baseScan }: Ydoc): boolean {
  return baseScan === undefined && base.length > SCANNED_AT_ONCE_BYTES;
}

export function isLongToRead(doc: Ydoc): boolean {
  return doc.crowding.items > READ_AT_ONCE_ITEMS && unreadBytes(doc) > READ_AT_ONCE_BYTES;
}

function unreadBytes({ base, tail, live }: Ydoc): number {
  if (live === null) return base.length + tailBytes(tail);
  return tailBytes(tail) - (live.drained === 0 ? 0 : tail.ends[live.drained - 1]!);
}

/** Whether it is to be folded, and that takes long; one that has not been read is to be read first. */
export function isLongToWrite(doc: Ydoc): boolean {
  return doc.live !== null && isUnfolded(doc) && doc.crowding.items > WRITTEN_AT_ONCE_ITEMS;
}

/** Before it is told what is missing to a client with this vector. */
export function stepsToAnswer(doc: Ydoc, vector: Uint8Array): readonly YdocStep[] {
  if (doc.tail.ends.length > YDOC_LIMITS.joinedTailMax) return ['write'];
  const hasNothing = vector.length === 1;
  if (hasNothing && (!isUnfolded(doc) || doc.answers?.whole != null)) return NO_STEPS;
  return ['scan'];
}

/** Before its hash is told. */
export function stepsToHash(doc: Ydoc): readonly YdocStep[] {
  return doc.live === null && !isUnfolded(doc) && doc.pendingBytes === 0 ? ['scan'] : ['read'];
}
