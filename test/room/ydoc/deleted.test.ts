import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import * as Y from 'yjs';
import { addAllDeleted, addDeleted, type Deleted, inOrder, isDeleted } from '../../../src/room/ydoc/deleted.ts';
import { scanUpdate } from '../../../src/room/ydoc/scan.ts';
import { acceptUpdate, emptyYdoc, replayUpdate, snapshotHash, type Ydoc } from '../../../src/room/ydoc/ydoc.ts';
import { block, bytes, from, hashOf, string } from './builders.ts';

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

const someRanges = (maxLength: number) =>
  fc.array(fc.tuple(fc.nat(200), fc.integer({ min: 1, max: 6 })), { maxLength, size: 'max' });

test('[CB30] ranges that are added at once, in any order, are those that are added one by one', () => {
  fc.assert(
    fc.property(someRanges(60), someRanges(60), (before, added) => {
      const pairs = (all: [number, number][]): [number, number][] => all.map(([at, length]) => [at, at + length]);
      const oneByOne = ranges(...pairs(before), ...pairs(added));
      const atOnce = ranges(...pairs(before));
      const ordered = inOrder(pairs(added).flatMap(([start, end]) => [1, start, end]));
      if (ordered.length > 0)
        addAllDeleted(
          atOnce,
          1,
          ordered.filter((_, index) => index % 3 > 0),
        );
      expect(atOnce).toEqual(oneByOne);
    }),
    { numRuns: 500 },
  );
});

test('[CB30] what is in order stays the very same; clients that come in turns are put together', () => {
  const deletes = [5, 0, 1, 5, 3, 7, 2, 9, 10];
  expect(inOrder(deletes)).toBe(deletes);
  const touching = [5, 0, 1, 5, 1, 3];
  expect(inOrder(touching)).toBe(touching);
  const deleted: Deleted = new Map();
  addAllDeleted(deleted, 5, [0, 1, 1, 3]);
  expect(deleted.get(5)).toEqual([0, 3]);
  expect(inOrder([5, 3, 7, 2, 9, 10, 5, 0, 1, 5, 1, 3])).toEqual([5, 0, 7, 2, 9, 10]);
});

describe('[CB31] deletions that come in another order than that of Yjs', () => {
  const letters = 300;
  const text = block(1, 0, string('x'.repeat(letters)));
  const every = Array.from({ length: letters / 2 }, (_, index) => bytes(2 * index, 1));
  const descending = bytes(0, 1, 1, every.length, ...every.toReversed());
  const ascending = bytes(0, 1, 1, every.length, ...every);

  function withText(): Ydoc {
    const doc = emptyYdoc();
    acceptUpdate(doc, text, from('one'));
    return doc;
  }

  test('are kept, written down and told in that order, on which Yjs spends seconds less', () => {
    const doc = withText();
    expect(Uint8Array.from(acceptUpdate(doc, descending, from('one')).journal!)).toEqual(ascending);
    expect(doc.tail.bytes.subarray(doc.tail.ends[0], doc.tail.ends[1])).toEqual(ascending);
    const ydoc = new Y.Doc();
    for (const update of [text, descending]) Y.applyUpdate(ydoc, update);
    expect(snapshotHash(doc)).toBe(hashOf(ydoc));
    expect(acceptUpdate(doc, descending, from('one')).changed).toBe(false);
  });

  test('are so too when a journal of before has them, and structs with them stay what they are', () => {
    const doc = withText();
    replayUpdate(doc, bytes(1, 1, 2, 0, string('new'), descending.subarray(1)));
    expect(doc.tail.bytes.subarray(doc.tail.ends[0], doc.tail.ends[1])).toEqual(
      bytes(1, 1, 2, 0, string('new'), ascending.subarray(1)),
    );
  });

  test('an update whose deletions are in order is kept as it came', () => {
    const update = bytes(0, 1, 1, 2, 0, 1, 4, 2);
    expect(acceptUpdate(withText(), update, from('one')).journal).toBe(update);
    expect(scanUpdate(update)).toMatchObject({ isInOrder: true, deletes: [1, 0, 1, 1, 4, 6] });
    expect(scanUpdate(descending)).toMatchObject({ isInOrder: false });
  });
});
