import { invalidUpdate } from './byte-reader.ts';

/**
 * Yjs writes one value an entry, but it joins values that are deleted and that an undo manager keeps: those are deleted by the same update. Of
 * several that are not, one could be split off, and Yjs would throw when it collects the map.
 */
export function checkDeleted(mustBeDeleted: readonly number[], deletes: readonly number[]): void {
  if (mustBeDeleted.length === 0) return;
  const ranges = new Map<number, number[]>();
  for (let at = 0; at < deletes.length; at += 3) {
    const own = ranges.get(deletes[at]!);
    if (own === undefined) ranges.set(deletes[at]!, [deletes[at + 1]!, deletes[at + 2]!]);
    else own.push(deletes[at + 1]!, deletes[at + 2]!);
  }
  for (let at = 0; at < mustBeDeleted.length; at += 3) {
    const [client, from, to] = mustBeDeleted.slice(at, at + 3) as [number, number, number];
    if (!isCovered(ranges.get(client) ?? [], from, to)) throw invalidUpdate('an entry of a map in it holds several values');
  }
}

/** Whether one of the ranges, ascending pairs, holds all clocks from `from` to `to`. */
function isCovered(ranges: readonly number[], from: number, to: number): boolean {
  let low = 0;
  let high = ranges.length / 2;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ranges[2 * middle]! <= from) low = middle + 1;
    else high = middle;
  }
  return low > 0 && ranges[2 * low - 1]! >= to;
}
