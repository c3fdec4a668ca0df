import { expect, test } from 'vitest';
import { Turns } from '../../src/base/turns.ts';

test('[AH15] so many loads run at a time, the others in the order in which they came; a failure gives its turn back', async () => {
  const turns = new Turns(2);
  const started: number[] = [];
  const ends: { resolve: () => void; reject: (error: Error) => void }[] = [];
  const work = (number: number) =>
    turns.take(() => {
      started.push(number);
      return new Promise<void>((resolve, reject) => ends.push({ resolve, reject }));
    });
  const all = [1, 2, 3, 4].map((number) => work(number).catch(() => undefined));
  expect(started).toEqual([1, 2]);
  ends[1]!.reject(new Error('no'));
  await all[1];
  await Promise.resolve();
  expect(started).toEqual([1, 2, 3]);
  ends[0]!.resolve();
  ends[2]!.resolve();
  await Promise.all([all[0], all[2]]);
  expect(started).toEqual([1, 2, 3, 4]);
  ends[3]!.resolve();
  await Promise.all(all);
});
