/**
 * Which clocks are deleted, as far as updates have said so. A client that comes back repeats every deletion it knows; this is how
 * the repetition is told from news without a `Y.Doc`.
 *
 * Less than Yjs knows: what integration itself deletes (the loser of two concurrent writes to one key) appears only when a
 * client says it.
 */
import * as encoding from 'lib0/encoding';
import { SmallMap, SmallSet } from '../../base/small.ts';
import { ByteReader } from './byte-reader.ts';

/** By client: first clock, clock after the last, and so on; ascending, disjoint, never adjacent. */
export type Deleted = Map<number, number[]>;

/** Beyond, one pass over all of a client's ranges costs less than to make room for each. */
const ADDED_SINGLY_MAX = 8;

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

/** The same for many ranges of one client at once, in the order of `inOrder`: one pass, wherever they fall. */
export function addAllDeleted(deleted: Deleted, client: number, ranges: readonly number[]): void {
  const known = deleted.get(client);
  if (known === undefined) {
    deleted.set(client, union(ranges));
  } else if (ranges.length <= 2 * ADDED_SINGLY_MAX) {
    for (let at = 0; at < ranges.length; at += 2) addDeleted(deleted, client, ranges[at]!, ranges[at + 1]!);
  } else {
    const first = firstEndingFrom(known, ranges[0]!);
    const next = firstEndingFrom(known, ranges.at(-1)! + 1); // it may begin where the last one ends: then the two melt
    const to = next < known.length && known[next]! <= ranges.at(-1)! ? next + 2 : next;
    deleted.set(client, known.slice(0, first).concat(union(known.slice(first, to).concat(ranges)), known.slice(to)));
  }
}

/**
 * Deleted ranges as a scan tells them (three numbers each), those of a client together, ascending, not
 * overlapping. Returns `deletes` itself if they are so already, as Yjs writes them.
 */
export function inOrder(deletes: readonly number[]): readonly number[] {
  if (isInOrder(deletes)) return deletes;
  const ranges = new Map<number, number[]>();
  for (let at = 0; at < deletes.length; at += 3) {
    const own = ranges.get(deletes[at]!);
    if (own === undefined) ranges.set(deletes[at]!, [deletes[at + 1]!, deletes[at + 2]!]);
    else own.push(deletes[at + 1]!, deletes[at + 2]!);
  }
  const ordered: number[] = [];
  for (const [client, own] of ranges) {
    const apart = union(own);
    for (let at = 0; at < apart.length; at += 2) ordered.push(client, apart[at]!, apart[at + 1]!);
  }
  return ordered;
}

function isInOrder(deletes: readonly number[]): boolean {
  if (deletes.length <= 3) return true;
  const clients = new SmallSet<number>();
  for (let at = 0; at < deletes.length; at += 3) {
    const client = deletes[at]!;
    if (at > 0 && client === deletes[at - 3]) {
      if (deletes[at + 1]! < deletes[at - 1]!) return false;
    } else {
      if (clients.has(client)) return false;
      clients.add(client);
    }
  }
  return true;
}

/** What pairs in any order cover, as ascending pairs that neither overlap nor touch. */
function union(pairs: readonly number[]): number[] {
  const count = pairs.length / 2;
  // Numbers sort many times faster than pairs, and which start belongs to which end does not matter: a gap is where as many have ended as begun.
  const starts = new Float64Array(count);
  const ends = new Float64Array(count);
  for (let index = 0; index < count; index += 1) {
    starts[index] = pairs[2 * index]!;
    ends[index] = pairs[2 * index + 1]!;
  }
  starts.sort();
  ends.sort();
  const apart: number[] = [];
  for (let index = 0, start = starts[0]!; index < count; index += 1) {
    if (index + 1 < count && starts[index + 1]! <= ends[index]!) continue;
    apart.push(start, ends[index]!);
    start = starts[index + 1]!;
  }
  return apart;
}

export function isDeleted(deleted: Deleted, client: number, from: number, to: number): boolean {
  const ranges = deleted.get(client);
  if (ranges === undefined) return false;
  // Ranges are never adjacent: the one that holds `from` holds all, or the answer is no.
  const at = firstEndingFrom(ranges, from);
  return at < ranges.length && ranges[at]! <= from && to <= ranges[at + 1]!;
}

/** A delete set in V1. */
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

/** A delete set in V2, which has distances for clocks. @param deletes three numbers each, those of a client together, in order */
export function encodeDeletesV2(deletes: readonly number[]): Uint8Array {
  const firsts: number[] = [];
  for (let at = 0; at < deletes.length; at += 3) if (at === 0 || deletes[at] !== deletes[at - 3]) firsts.push(at);
  const encoder = encoding.createEncoder();
  encoding.writeVarUint(encoder, firsts.length);
  firsts.forEach((first, index) => {
    const end = firsts[index + 1] ?? deletes.length;
    encoding.writeVarUint(encoder, deletes[first]!);
    encoding.writeVarUint(encoder, (end - first) / 3);
    for (let at = first, last = 0; at < end; last = deletes[at + 2]!, at += 3) {
      encoding.writeVarUint(encoder, deletes[at + 1]! - last);
      encoding.writeVarUint(encoder, deletes[at + 2]! - deletes[at + 1]! - 1);
    }
  });
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
