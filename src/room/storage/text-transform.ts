/**
 * Moves text operations over others made at the same time (protocol §5.7), so that both orders give the same text (TP1).
 *
 * The SDK does the same to predict our answer; a difference of one offset makes it throw its prediction away.
 */
import type { JsonObject } from '../../base/json.ts';
import type { TextOperation } from '../../protocol/storage-ops.ts';
import type { TextWork } from './text-work.ts';

/** Where the transformed operations stand to the others in the history that results. */
export type Order = 'before' | 'after';

type Insert = Extract<TextOperation, { type: 'insert' }>;
type Range = Extract<TextOperation, { type: 'delete' | 'format' }>;
type Format = Extract<TextOperation, { type: 'format' }>;
type Operations = readonly TextOperation[];

/** `operations` as they read once `others`, made from the same text, have been applied. */
export function transform(operations: Operations, others: Operations, order: Order): Operations {
  return cross(operations, others, { order, work: null })![0];
}

/** The same, each pair that meets paid for; null when too little work is left. */
export function transformWithin(
  operations: Operations,
  others: Operations,
  within: { readonly order: Order; readonly work: TextWork },
): Operations | null {
  return cross(operations, others, within)?.[0] ?? null;
}

/** `operations` as they read once all of `between` have been applied, one after the other; null when that is too much to find out. */
export function transformOverAll(operations: Operations, between: readonly Operations[], work: TextWork): Operations | null {
  let moved = operations;
  let ahead = between.reduce((count, others) => count + others.length, 0);
  for (const others of between) {
    // Asked anew each time, because ranges split where text was inserted.
    if (!work.hasPairs(moved.length * ahead)) return null;
    ahead -= others.length;
    const next = transformWithin(moved, others, { order: 'after', work });
    if (next === null) return null;
    moved = next;
  }
  return moved;
}

interface Crossing {
  readonly order: Order;
  /** Null when it may cost whatever it costs. */
  readonly work: TextWork | null;
}

/** Both sequences, each moved over the other; null when work ran out. Every pair meets once; pieces of a split meet what is left to meet. */
function cross(ours: Operations, theirs: Operations, crossing: Crossing): [Operations, Operations] | null {
  if (ours.length === 0 || theirs.length === 0) return [ours, theirs];
  if (ours.length === 1 && theirs.length === 1) return crossPair(ours[0]!, theirs[0]!, crossing);
  const oursMoved: TextOperation[] = [];
  let theirsLeft = theirs;
  for (const own of ours) {
    const theirsMoved: TextOperation[] = [];
    let pieces: Operations = [own];
    for (const other of theirsLeft) {
      const [piece] = pieces;
      if (piece?.type === 'insert' && other.type === 'insert') {
        // Most pairs are of these; neither ever splits.
        if (crossing.work?.takePairs(1) === false) return null;
        pieces = [insertOver(piece, other, crossing.order)];
        theirsMoved.push(insertOver(other, piece, opposite(crossing.order)));
        continue;
      }
      const crossed = pieces.length === 1 ? crossPair(pieces[0]!, other, crossing) : cross(pieces, [other], crossing);
      if (crossed === null) return null;
      pieces = crossed[0];
      for (const otherMoved of crossed[1]) theirsMoved.push(otherMoved);
    }
    for (const piece of pieces) oursMoved.push(piece);
    theirsLeft = theirsMoved;
  }
  return [oursMoved, theirsLeft];
}

function crossPair(own: TextOperation, other: TextOperation, { order, work }: Crossing): [Operations, Operations] | null {
  if (work !== null && !work.takePairs(1)) return null;
  return [moved(own, other, order), moved(other, own, opposite(order))];
}

function opposite(order: Order): Order {
  return order === 'before' ? 'after' : 'before';
}

function moved(operation: TextOperation, other: TextOperation, order: Order): Operations {
  if (operation.type === 'insert') return [insertOver(operation, other, order)];
  switch (other.type) {
    case 'insert':
      return rangeOverInsert(operation, other);
    case 'delete':
      return rangeOverDelete(operation, other);
    case 'format':
      return operation.type === 'format' && order === 'before' ? formatOverLater(operation, other) : [operation];
    default:
      return other satisfies never;
  }
}

function insertOver(operation: Insert, other: TextOperation, order: Order): Insert {
  switch (other.type) {
    case 'insert': {
      const shifts = other.index < operation.index || (other.index === operation.index && order === 'after');
      return shifts ? insertAt(operation, operation.index + other.text.length) : operation;
    }
    case 'delete':
      return insertAt(operation, overDelete(operation.index, other));
    case 'format':
      return operation;
    default:
      return other satisfies never;
  }
}

/** Written out, for most pairs are of inserts, and a copy by spread takes several times as long. */
function insertAt({ type, text, attributes }: Insert, index: number): Insert {
  return attributes === undefined ? { type, index, text } : { type, index, text, attributes };
}

/** A range that text is inserted into spares it: a delete must not take what its author never saw. */
function rangeOverInsert(operation: Range, { index: at, text }: Insert): Operations {
  const { index: start, length } = operation;
  if (at <= start) return [{ ...operation, index: start + text.length }];
  const tail = start + length - at;
  if (tail <= 0) return [operation];
  // Pieces of a delete apply one after the other: the second begins where the first left the inserted text.
  const tailAt = (operation.type === 'delete' ? start : at) + text.length;
  return [
    { ...operation, length: at - start },
    { ...operation, index: tailAt, length: tail },
  ];
}

function rangeOverDelete(operation: Range, other: Extract<TextOperation, { type: 'delete' }>): Operations {
  const start = overDelete(operation.index, other);
  const end = overDelete(operation.index + operation.length, other);
  return end > start ? [{ ...operation, index: start, length: end - start }] : [];
}

/** Where a later format sets the same attributes, it wins. */
function formatOverLater(operation: Format, later: Format): Operations {
  const end = operation.index + operation.length;
  const from = Math.max(operation.index, later.index);
  const to = Math.min(end, later.index + later.length);
  const rest = Object.entries(operation.attributes).filter(([key]) => !Object.hasOwn(later.attributes, key));
  if (from >= to || rest.length === Object.keys(operation.attributes).length) return [operation];
  const attributes: JsonObject = Object.fromEntries(rest);
  const pieces = [
    { ...operation, length: from - operation.index },
    { ...operation, index: from, length: to - from, attributes },
    { ...operation, index: to, length: end - to },
  ];
  return pieces.filter((piece) => piece.length > 0 && Object.keys(piece.attributes).length > 0);
}

function overDelete(index: number, { index: at, length }: Extract<TextOperation, { type: 'delete' }>): number {
  return at >= index ? index : Math.max(at, index - length);
}
