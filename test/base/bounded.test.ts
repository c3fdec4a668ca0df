import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { BoundedQueue, TokenBucket } from '../../src/base/bounded.ts';

test('[CN1] a bucket gives its burst at once, then its rate, and not a token more', () => {
  const bucket = new TokenBucket({ perSecond: 100, burst: 200 }, 0);
  for (let taken = 0; taken < 200; taken += 1) expect(bucket.take(0)).toBe(true);
  expect(bucket.take(0)).toBe(false);
  expect(bucket.take(9)).toBe(false);
  expect(bucket.take(10)).toBe(true);
  expect(bucket.take(10)).toBe(false);
});

test('[CN1] a bucket left alone is full again, and no fuller', () => {
  const bucket = new TokenBucket({ perSecond: 10, burst: 5 }, 0);
  for (let taken = 0; taken < 5; taken += 1) bucket.take(0);
  for (let taken = 0; taken < 5; taken += 1) expect(bucket.take(1_000_000)).toBe(true);
  expect(bucket.take(1_000_000)).toBe(false);
});

test('[CN1] a refused amount takes nothing', () => {
  const bucket = new TokenBucket({ perSecond: 1, burst: 10 }, 0);
  expect(bucket.take(0, 11)).toBe(false);
  expect(bucket.take(0, 10)).toBe(true);
});

test('[CN1] a client at the shortest throttle of the SDK, 16 ms, is never refused', () => {
  const bucket = new TokenBucket({ perSecond: 100, burst: 200 }, 0);
  for (let nowMs = 0; nowMs < 60_000; nowMs += 16) expect(bucket.take(nowMs)).toBe(true);
});

test('[CN2] a queue takes up to its items and its bytes, each exactly', () => {
  const byItems = new BoundedQueue<string>({ itemsMax: 2, bytesMax: 100 });
  expect([byItems.push('a', 1), byItems.push('b', 1), byItems.push('c', 1)]).toEqual([true, true, false]);
  const byBytes = new BoundedQueue<string>({ itemsMax: 10, bytesMax: 100 });
  expect([byBytes.push('a', 60), byBytes.push('b', 41), byBytes.push('c', 40)]).toEqual([true, false, true]);
  expect([byBytes.shift(), byBytes.bytes, byBytes.push('d', 60), byBytes.push('e', 1)]).toEqual(['a', 40, true, false]);
});

test('[CN2] what was taken from a queue is let go', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const queue = new BoundedQueue<object>({ itemsMax: 10, bytesMax: 10 });
  const taken = (() => {
    for (let count = 0; count < 5; count += 1) queue.push({ count }, 1);
    return new WeakRef(queue.shift()!);
  })();
  await new Promise<void>((resolve) => setImmediate(resolve)); // a weak reference holds until its turn is over
  collect();
  expect(taken.deref()).toBeUndefined();
  expect(queue.size).toBe(4);
});

test('[CN2] a queue keeps order, and its figures, whatever is pushed and shifted', () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20))), (steps) => {
      const queue = new BoundedQueue<number>({ itemsMax: 8, bytesMax: 60 });
      const model: number[] = [];
      for (const bytes of steps) {
        if (bytes === null) expect(queue.shift()).toBe(model.shift());
        else {
          const fits = model.length < 8 && sum(model) + bytes <= 60;
          expect(queue.push(bytes, bytes)).toBe(fits);
          if (fits) model.push(bytes);
        }
        expect([queue.size, queue.bytes]).toEqual([model.length, sum(model)]);
      }
    }),
  );
});

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
