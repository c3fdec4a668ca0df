import fc from 'fast-check';
import { expect, test } from 'vitest';
import { addDeleted, type Deleted, isDeleted } from '../../../src/room/ydoc/deleted.ts';

function ranges(...pairs: [from: number, to: number][]): Deleted {
  const deleted: Deleted = new Map();
  for (const [from, to] of pairs) addDeleted(deleted, 1, from, to);
  return deleted;
}

test.each<[string, [number, number][], number[]]>([
  [
    'apart',
    [
      [5, 7],
      [1, 2],
      [9, 10],
    ],
    [1, 2, 5, 7, 9, 10],
  ],
  [
    'adjacent',
    [
      [1, 2],
      [3, 4],
      [2, 3],
    ],
    [1, 4],
  ],
  [
    'inside',
    [
      [1, 9],
      [3, 4],
    ],
    [1, 9],
  ],
  [
    'around',
    [
      [3, 4],
      [6, 7],
      [1, 9],
    ],
    [1, 9],
  ],
  [
    'across',
    [
      [1, 4],
      [6, 9],
      [3, 7],
    ],
    [1, 9],
  ],
  [
    'the same',
    [
      [1, 4],
      [1, 4],
    ],
    [1, 4],
  ],
])('[YD9] ranges that lie %s are kept ascending and disjoint', (_, pairs, expected) => {
  expect(ranges(...pairs).get(1)).toEqual(expected);
});

test('[YD9] a range is deleted when all of it is, and not for another client', () => {
  const deleted = ranges([2, 5], [7, 9]);
  expect(isDeleted(deleted, 1, 2, 5)).toBe(true);
  expect(isDeleted(deleted, 1, 3, 4)).toBe(true);
  expect(isDeleted(deleted, 1, 1, 3)).toBe(false);
  expect(isDeleted(deleted, 1, 4, 6)).toBe(false);
  expect(isDeleted(deleted, 1, 5, 7)).toBe(false);
  expect(isDeleted(deleted, 1, 9, 10)).toBe(false);
  expect(isDeleted(deleted, 2, 2, 5)).toBe(false);
});

test('[YD9] any ranges in any order tell the same as a set of clocks', () => {
  const range = fc.tuple(fc.nat(60), fc.integer({ min: 1, max: 12 }));
  fc.assert(
    fc.property(fc.array(range, { maxLength: 30 }), range, (added, [from, length]) => {
      const clocks = new Set(added.flatMap(([at, count]) => Array.from({ length: count }, (_, index) => at + index)));
      const expected = Array.from({ length }, (_, index) => from + index).every((clock) => clocks.has(clock));
      return (
        isDeleted(ranges(...added.map(([at, count]) => [at, at + count] as [number, number])), 1, from, from + length) ===
        expected
      );
    }),
  );
});
