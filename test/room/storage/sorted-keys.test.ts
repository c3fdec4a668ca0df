import fc from 'fast-check';
import { expect, test } from 'vitest';
import { SortedKeys } from '../../../src/room/storage/sorted-keys.ts';

test('keys stay in order over chunks, whatever is added and removed', () => {
  const aKey = fc.nat(3_000).map((n) => n.toString(36).padStart(3, '0'));
  fc.assert(
    fc.property(
      fc.uniqueArray(aKey, { minLength: 0, maxLength: 1_500, size: 'max' }),
      fc.array(aKey, { maxLength: 1_500, size: 'max' }),
      (start, toggled) => {
        const keys = new SortedKeys(start);
        const model = new Set(start);
        for (const key of toggled) {
          if (model.delete(key)) keys.delete(key);
          else {
            keys.add(key);
            model.add(key);
          }
        }
        const expected = [...model].sort();
        expect(keys.toArray()).toEqual(expected);
        expect(keys.last()).toBe(expected.at(-1));
        for (const [index, key] of expected.entries()) {
          if (index % 97 !== 0) continue;
          expect(keys.at(index)).toBe(key);
          expect(keys.after(key)).toBe(expected[index + 1]);
          expect(keys.after(key.slice(0, -1))).toBe(expected.find((other) => other > key.slice(0, -1)));
        }
        expect(keys.at(expected.length)).toBeUndefined();
      },
    ),
    { numRuns: 50 },
  );
});

test('20,000 keys added at one end, then taken from the other', () => {
  const keys = new SortedKeys([]);
  const all = Array.from({ length: 20_000 }, (_, n) => `${n}`.padStart(5, '0'));
  for (const key of all) keys.add(key);
  expect(keys.toArray()).toEqual(all);
  for (const key of all.slice(0, -1)) keys.delete(key);
  expect([keys.last(), keys.at(0), keys.after('00000')]).toEqual(['19999', '19999', '19999']);
  keys.delete('19999');
  expect([keys.last(), keys.at(0), keys.after('')]).toEqual([undefined, undefined, undefined]);
});
