import { expect, test } from 'vitest';
import { SmallMap, SmallSet } from '../../src/base/small.ts';
import { Dice } from '../fuzz/dice.ts';

const KEYS = ['', 'a', 'b', 'c'] as const;
const RUNS = 500;
const STEPS = 20;

test('[SL1] a small map does what a map does, call for call, in the same order', () => {
  const dice = new Dice(1);
  for (let run = 0; run < RUNS; run += 1) {
    const [small, map] = [new SmallMap<string, number>(), new Map<string, number>()];
    for (let step = 0; step < STEPS; step += 1) {
      const [call, key] = [dice.below(9), KEYS[dice.below(KEYS.length)]!];
      if (call < 5) expect([small.set(key, step), map.set(key, step)]).toEqual([small, map]);
      else if (call < 8) expect(small.delete(key)).toBe(map.delete(key));
      else for (const each of [small, map]) each.clear();
      expect([...small]).toEqual([...map]);
      expect([small.size, small.has(key), small.get(key)]).toEqual([map.size, map.has(key), map.get(key)]);
    }
    expect([[...small.keys()], [...small.values()]]).toEqual([[...map.keys()], [...map.values()]]);
    expect([...new SmallMap(map)]).toEqual([...map]);
    const visited: unknown[] = [];
    small.forEach((value, key, self) => void visited.push([key, value, self === small]));
    expect(visited).toEqual([...map].map(([key, value]) => [key, value, true]));
  }
});

test('[SL2] a small set does what a set does', () => {
  const dice = new Dice(2);
  for (let run = 0; run < RUNS; run += 1) {
    const [small, set] = [new SmallSet<string>(), new Set<string>()];
    for (let step = 0; step < STEPS; step += 1) {
      const [call, item] = [dice.below(9), KEYS[dice.below(KEYS.length)]!];
      if (call < 5) expect([small.add(item), set.add(item)]).toEqual([small, set]);
      else if (call < 8) expect(small.delete(item)).toBe(set.delete(item));
      else for (const each of [small, set]) each.clear();
      expect([...small]).toEqual([...set]);
      expect([small.size, small.has(item)]).toEqual([set.size, set.has(item)]);
    }
    expect([[...small.entries()], [...new SmallSet(set)]]).toEqual([[...set.entries()], [...set]]);
    const visited: unknown[] = [];
    small.forEach((item, same, self) => void visited.push([item, same, self === small]));
    expect(visited).toEqual([...set].map((item) => [item, item, true]));
  }
});

test('[SL3] undefined is a key and a value like others', () => {
  const map = new SmallMap<string | undefined, string | undefined>();
  expect([map.has(undefined), map.size]).toEqual([false, 0]);
  map.set(undefined, undefined);
  expect([map.has(undefined), map.size, [...map]]).toEqual([true, 1, [[undefined, undefined]]]);
  expect([map.delete(undefined), map.size]).toEqual([true, 0]);
  expect([...new SmallSet([undefined])]).toEqual([undefined]);
});

test('[SL4] what is deleted while it is iterated over is not visited', () => {
  const map = new SmallMap(Object.entries({ a: 1, b: 2, c: 3 }));
  const visited: string[] = [];
  for (const key of map.keys()) {
    visited.push(key);
    map.delete('b');
    map.delete(key);
  }
  expect([visited, map.size]).toEqual([['a', 'c'], 0]);
});
