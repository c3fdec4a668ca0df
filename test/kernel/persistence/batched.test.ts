import { expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { Batched } from '../../../src/kernel/persistence/batched.ts';
import { SqlError } from '../../../src/kernel/persistence/sql.ts';
import { Sweep } from '../../../src/kernel/persistence/sweep.ts';
import { manualClock } from '../../support/manual-clock.ts';

const turns = () => new Promise((resolve) => setTimeout(resolve, 5));

function aBatched({ itemsMax = 10, waitingMax = 100 } = {}) {
  const clock = manualClock(0);
  const written: string[][] = [];
  const state = { isAway: false, isInTheWay: false, inTimeMax: Number.POSITIVE_INFINITY };
  const lost: string[] = [];
  const batched = new Batched<string>(
    { clock, log: silentLog },
    {
      phrase: 'not written',
      itemsMax,
      waitingMax,
      write: async (items) => {
        if (state.isAway) throw new Error('away');
        if (state.isInTheWay) throw new SqlError('a row is gone', { sqlState: '23503', constraint: 'a_fkey', cause: null });
        if (items.includes('bad')) throw new SqlError('no text', { sqlState: '22P05', constraint: undefined, cause: null });
        if (items.length > state.inTimeMax) throw new AppError('DATABASE_UNAVAILABLE', { sqlState: '57014' });
        written.push([...items]);
      },
      onLost: (item) => lost.push(item),
    },
  );
  const pass = async (ms: number): Promise<void> => {
    clock.advance(ms);
    await turns();
  };
  return { batched, written, lost, state, pass };
}

test('[BW1] what comes within a moment is written together, in order; more than fits goes with the next', async () => {
  const { batched, written, pass } = aBatched({ itemsMax: 2 });
  for (const item of 'abc') batched.add(item);
  expect(written).toEqual([]);
  await pass(50);
  await pass(0);
  expect(written).toEqual([['a', 'b'], ['c']]);
});

test('[BW2] while writing fails all waits, in order, and is tried again each second', async () => {
  const { batched, written, state, pass } = aBatched();
  state.isAway = true;
  batched.add('a');
  await pass(50);
  batched.add('b');
  await pass(999);
  state.isAway = false;
  expect(written).toEqual([]);
  await pass(1);
  expect(written).toEqual([['a', 'b']]);
});

test('[BW3] so much may wait; the oldest goes first', async () => {
  const { batched, written, lost, pass } = aBatched({ waitingMax: 2 });
  for (const item of 'abc') batched.add(item);
  await pass(50);
  expect([written, lost]).toEqual([[['b', 'c']], ['a']]);
});

test('[BW4] at the end what waits is written', async () => {
  const { batched, written } = aBatched({ itemsMax: 2 });
  for (const item of 'abc') batched.add(item);
  await batched.close();
  expect(written).toEqual([['a', 'b'], ['c']]);
});

test('[BW5] what the database refuses is lost alone, and those with it are written, in order', async () => {
  const { batched, written, lost, state, pass } = aBatched();
  for (const item of ['a', 'b', 'bad', 'c', 'd', 'e', 'bad', 'f']) batched.add(item);
  await pass(50);
  for (let rounds = 0; rounds < 20; rounds += 1) await pass(0);
  expect([written.flat().join(''), lost]).toEqual(['abcdef', ['bad', 'bad']]);
  state.isInTheWay = true; // that passes
  batched.add('x');
  await pass(50);
  state.isInTheWay = false;
  await pass(1_000);
  expect(written.flat().join('')).toBe('abcdefx');
  for (const item of ['bad', 'g']) batched.add(item);
  await batched.close();
  expect(written.flat().join('')).toBe('abcdefxg');
});

test('[BW6] what the database takes too long for is tried by halves, a second later each time, and nothing is lost', async () => {
  const { batched, written, lost, state, pass } = aBatched({ itemsMax: 8 });
  state.inTimeMax = 2;
  for (const item of 'abcdefgh') batched.add(item);
  await pass(50);
  await pass(1_000);
  expect(written).toEqual([]);
  await pass(1_000);
  expect(written).toEqual([['a', 'b']]);
  state.inTimeMax = 0; // one alone, too
  for (let rounds = 0; rounds < 5; rounds += 1) await pass(1_000);
  state.inTimeMax = 8;
  for (let rounds = 0; rounds < 5; rounds += 1) await pass(1_000);
  expect([written.flat().join(''), lost]).toEqual(['abcdefgh', []]);
});

test('[SW1] a sweep goes on while there is more, one pass at a time, survives a failure and ends when told', async () => {
  const clock = manualClock(0);
  let left = 3;
  let runs = 0;
  let isBroken = false;
  const sweep = new Sweep(
    { clock, log: silentLog },
    {
      phrase: 'not swept',
      everyMs: 1_000,
      some: async () => {
        runs += 1;
        if (isBroken) throw new Error('broken');
        left -= 1;
        return left > 0;
      },
    },
  );
  await Promise.all([sweep.run(), sweep.run()]);
  expect([runs, left]).toEqual([3, 0]);
  isBroken = true;
  await sweep.run();
  isBroken = false;
  clock.advance(1_000);
  await turns();
  expect(runs).toBe(5);
  await sweep.close();
  clock.advance(10_000);
  await turns();
  expect(runs).toBe(5);
});
