/**
 * Which clocks are deleted, as far as updates have said so. A client that comes back repeats every deletion it knows; this is how
 * the repetition is told from news without a `Y.Doc`.
 *
 * Less than Yjs knows: what integration itself deletes (the loser of two concurrent writes to one key) appears only when a
 * client says it.
 */
import * as encoding from 'lib0/encoding';
import { SmallMap } from '../../base/small.ts';
import { ByteReader } from './byte-reader.ts';

/** By client: first clock, clock after the last, and so on; ascending, disjoint, never adjacent. */
export type Deleted = Map<number, number[]>;

export function addDeleted(deleted: Deleted, client: number, from: number, to: number): void {
  const ranges = deleted.get(client);
  if (ranges === undefined) {
    deleted.set(client, [from, to]);
    return;
  }
  // The first range that ends at `from` or later, and the first that begins beyond `to`: all between melt into one.
  const first = firstEndingFrom(ranges, from);
  let next = first;
  while (next < ranges.length && ranges[next]! <= to) next += 2;
  if (next === first) ranges.splice(first, 0, from, to);
  else ranges.splice(first, next - first, Math.min(from, ranges[first]!), Math.max(to, ranges[next - 1]!));
}

export function isDeleted(deleted: Deleted, client: number, from: number, to: number): boolean {
  const ranges = deleted.get(client);
  if (ranges === undefined) return false;
  // Ranges are never adjacent: the one that holds `from` holds all, or the answer is no.
  const at = firstEndingFrom(ranges, from);
  return at < ranges.length && ranges[at]! <= from && to <= ranges[at + 1]!;
}

/** The delete set of a V1 update. */
export function writeDeleted(encoder: encoding.Encoder, deleted: Deleted): void {
  encoding.writeVarUint(encoder, deleted.size);
  for (const [client, ranges] of [...deleted].sort((one, other) => other[0] - one[0])) {
    encoding.writeVarUint(encoder, client);
    encoding.writeVarUint(encoder, ranges.length / 2);
    for (let at = 0; at < ranges.length; at += 2) {
      encoding.writeVarUint(encoder, ranges[at]!);
      encoding.writeVarUint(encoder, ranges[at + 1]! - ranges[at]!);
    }
  }
}

export function encodeDeleted(deleted: Deleted): Uint8Array {
  const encoder = encoding.createEncoder();
  writeDeleted(encoder, deleted);
  return encoding.toUint8Array(encoder);
}

/** @param bytes from `encodeDeleted`. */
export function decodeDeleted(bytes: Uint8Array): Deleted {
  const reader = new ByteReader(bytes);
  const deleted: Deleted = new SmallMap();
  for (let clients = reader.varUint(); clients > 0; clients -= 1) {
    const client = reader.varUint();
    const ranges: number[] = [];
    for (let left = reader.varUint(); left > 0; left -= 1) {
      const from = reader.varUint();
      ranges.push(from, from + reader.varUint());
    }
    deleted.set(client, ranges);
  }
  return deleted;
}

/** Index of the first range whose end is at or after `clock`; the length of the list when there is none. */
function firstEndingFrom(ranges: readonly number[], clock: number): number {
  let low = 0;
  let high = ranges.length / 2;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (ranges[2 * middle + 1]! < clock) low = middle + 1;
    else high = middle;
  }
  return 2 * low;
}
