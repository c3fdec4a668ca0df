import { expect, test } from 'vitest';
import * as Y from 'yjs';
import { YDOC_LIMITS } from '../../../src/room/ydoc/limits.ts';
import { scanUpdate } from '../../../src/room/ydoc/scan.ts';
import { decodeVector, encodeVector } from '../../../src/room/ydoc/vector.ts';
import { aClient, block, bytes, chanceOf, collected, edit, gap, string, stringAfter } from './builders.ts';

test('[YD2] a scan tells what an update holds, what it needs and what it deletes', () => {
  const update = bytes(2, 3, 9, 4, string('ab'), gap(3), collected(2), 1, 1, 0, stringAfter(8, 6, '😀'), 1, 5, 2, 0, 1, 3, 4);
  const scanned = scanUpdate(update);
  expect(scanned.spans).toMatchObject([
    { client: 9, from: 4, to: 6, structs: 1, deleted: 0 },
    { client: 9, from: 9, to: 11, structs: 1, deleted: 2 },
    { client: 1, from: 0, to: 2, structs: 1, deleted: 0 },
  ]);
  const [first] = scanned.spans;
  expect(update.slice(first!.bytesFrom, first!.bytesTo)).toEqual(string('ab'));
  expect(first!.live.slice(0, 2)).toEqual([4, 2]);
  expect([...scanned.needs]).toEqual([[8, 7]]);
  expect(scanned.deletes).toEqual([5, 0, 1, 5, 3, 7]);
  expect(update.slice(scanned.deletesAt)).toEqual(bytes(1, 5, 2, 0, 1, 3, 4));
});

test('[YD5] types in a root are not counted as nested, those that may lie deeper are', () => {
  const inRoot = bytes(7, 1, 'list', 1);
  const inItem = bytes(7, 0, 9, 0, 1);
  const beside = bytes({ byte: 7 | 0x80 }, 9, 1, 1);
  expect(scanUpdate(block(9, 0, inRoot, inRoot)).nestedTypes).toBe(0);
  expect(scanUpdate(block(9, 0, inRoot, inItem, beside)).nestedTypes).toBe(2);
});

test('[YD18] of many structs the last are remembered', () => {
  const structs = Array.from({ length: 500 }, () => string('a'));
  const { live } = scanUpdate(block(9, 0, ...structs)).spans[0]!;
  expect(live.length).toBeLessThanOrEqual(2 * 4 * YDOC_LIMITS.writerStructsMax);
  expect(live.at(-4)).toBe(499);
});

test('[YD1] clocks, deletions and lengths are those that Yjs reads, in whatever it writes', () => {
  const seed = 4711;
  const chance = chanceOf(seed);
  const { ydoc, sent } = aClient(3);
  for (let step = 0; step < 400; step += 1) edit(ydoc, chance);
  for (const update of [...sent, Y.encodeStateAsUpdate(ydoc)]) {
    const { spans, deletes } = scanUpdate(update);
    const meta = Y.parseUpdateMeta(update);
    expect(new Map(spans.map((span) => [span.client, span.to]))).toEqual(meta.to);
    const ranges = [...Y.decodeUpdate(update).ds.clients].flatMap(([client, items]) =>
      items.flatMap(({ clock, len }) => [client, clock, clock + len]),
    );
    expect(deletes).toEqual(ranges);
  }
});

test('[YD14] a state vector reads back as it was written, in the order of Yjs', () => {
  const vector = new Map([
    [1, 5],
    [2 ** 32 - 1, 7],
    [300, 2 ** 31],
  ]);
  expect(decodeVector(encodeVector(vector))).toEqual(vector);
  expect(encodeVector(vector)).toEqual(Y.encodeStateVector(vector));
});
