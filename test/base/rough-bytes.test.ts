import { expect, test } from 'vitest';
import { roughBytesOf } from '../../src/base/rough-bytes.ts';

const most = Number.POSITIVE_INFINITY;

test('[CB57] plain data is weighed by its values, its characters and its bytes', () => {
  expect([null, 1, true, undefined].map((value) => roughBytesOf(value, most))).toEqual([16, 16, 16, 16]);
  expect([roughBytesOf('abc', most), roughBytesOf(new Uint8Array(1_000), most)]).toEqual([19, 1_016]);
  expect(roughBytesOf({ type: 'storage.change', ops: [{ id: '1:2' }, ['x', 1]] }, most)).toBe(
    16 + (16 + 14) + (16 + (16 + 19) + (16 + 17 + 16)),
  );
});

test.each([
  ['items', (look: () => number) => Array.from({ length: 1_000 }, () => counted(look))],
  ['members', (look: () => number) => Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [at, counted(look)]))],
  ['nested items', (look: () => number) => [Array.from({ length: 1_000 }, () => counted(look)), counted(look)]],
])('[CB57] past the most that counts no further %s are looked at', (_, make) => {
  let looks = 0;
  const value = make(() => ++looks);
  expect(roughBytesOf(value, 320)).toBeGreaterThan(320);
  expect(looks).toBeLessThan(20);
});

/** Data that says when it is looked at. */
function counted(look: () => number): object {
  return {
    get seen() {
      return look();
    },
  };
}
