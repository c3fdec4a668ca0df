import { expect, test } from 'vitest';
import { asWorkerAddress } from '../../../src/base/ids.ts';
import { movesOf, preferredWorker } from '../../../src/kernel/cluster/placement.ts';

const workers = (...loads: number[]) => loads.map((load, index) => ({ address: asWorkerAddress(`10.0.0.${index}:7000`), load }));
const keys = Array.from({ length: 6_000 }, (_, index) => `room-${index}`);
const counted = (names: readonly (string | null)[]): number[] => {
  const counts = new Map<string | null, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts.values()].sort((left, right) => left - right);
};

test('[PC1] equal workers are preferred by equal shares of the rooms', () => {
  const three = workers(0, 0, 0);
  for (const count of counted(keys.map((key) => preferredWorker(key, three)))) expect(Math.abs(count - 2_000)).toBeLessThan(200);
  expect(preferredWorker('room', [])).toBeNull();
});

test('[PC2] a worker that comes takes rooms from all others, and no room moves between those', () => {
  const three = workers(0, 0, 0);
  const four = workers(0, 0, 0, 0);
  const moved = keys.filter((key) => preferredWorker(key, three) !== preferredWorker(key, four));
  expect(Math.abs(moved.length - 1_500)).toBeLessThan(200);
  expect(counted(moved.map((key) => preferredWorker(key, four)))).toHaveLength(1);
});

test('[PC3] the order in which workers are listed means nothing', () => {
  const three = workers(3, 900, 40);
  for (const key of keys.slice(0, 200)) expect(preferredWorker(key, three)).toBe(preferredWorker(key, [...three].reverse()));
});

test('[PC4] small differences of load move nothing; a loaded worker is preferred less, never not at all', () => {
  const near = (key: string) => preferredWorker(key, workers(100, 110, 100));
  for (const key of keys.slice(0, 500)) expect(near(key)).toBe(preferredWorker(key, workers(100, 100, 100)));
  const heavy = keys.filter((key) => preferredWorker(key, workers(5_000, 100, 100)) === '10.0.0.0:7000').length;
  expect(heavy).toBeGreaterThan(400);
  expect(heavy).toBeLessThan(1_400);
});

test('[PC5] a worker hands over only what is clearly above the mean, at most 50 and 5 % a round, and only rooms that prefer another', () => {
  const self = asWorkerAddress('10.0.0.0:7000');
  const even = workers(100, 100, 100);
  expect(movesOf({ keys: keys.slice(0, 100), self, workers: even })).toEqual([]);
  expect(movesOf({ keys: keys.slice(0, 140), self, workers: workers(140, 130, 130) })).toEqual([]);
  const moves = movesOf({ keys, self, workers: workers(6_000, 10, 10) });
  expect(moves).toHaveLength(50);
  for (const key of moves) expect(preferredWorker(key, workers(6_000, 10, 10))).not.toBe(self);
  expect(movesOf({ keys: keys.slice(0, 300), self, workers: workers(300, 10, 10) })).toHaveLength(15);
  expect(movesOf({ keys, self, workers: workers(6_000) })).toEqual([]); // nobody else is there
});
