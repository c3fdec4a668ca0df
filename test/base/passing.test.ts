import { expect, test } from 'vitest';
import { PassingMap } from '../../src/base/passing.ts';
import { Dice } from '../fuzz/dice.ts';

test('[SL5] a map of what comes and goes does what a map does, also while its entries move', () => {
  const dice = new Dice(3);
  const [passing, map] = [new PassingMap<number, number>(), new Map<number, number>()];
  for (let step = 0; step < 20_000; step += 1) {
    const key = dice.below(step < 10_000 ? 50 : 3_000);
    if (dice.chance(0.5)) {
      passing.set(key, step);
      map.set(key, step);
    } else expect(passing.delete(key)).toBe(map.delete(key));
    expect([passing.size, passing.has(key), passing.get(key)]).toEqual([map.size, map.has(key), map.get(key)]);
    expect(passing.first()).toEqual(map.entries().next().value);
  }
  expect(passing.keys()).toEqual([...map.keys()]);
});
