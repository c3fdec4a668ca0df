import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import { WatchCalls } from '../../src/room/watch-calls.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const [B, C] = [asWorkerAddress('b:1'), asWorkerAddress('c:1')];
const BY_THEMSELVES_MS = 1_250;

/** This worker and others, of whom some cannot be reached or ask in vain; who has looked, and whether the call is over. */
function called({
  others = [B, C] as WorkerAddress[] | null,
  unreached = [] as WorkerAddress[],
  without = [] as WorkerAddress[],
} = {}) {
  const looked: WorkerAddress[] = [];
  const clock = manualClock();
  const callsOf = (self: WorkerAddress): WatchCalls =>
    new WatchCalls({
      clock,
      findOthers: async () => {
        if (others === null) throw new AppError('DATABASE_UNAVAILABLE');
        return others;
      },
      watcher: {
        async look() {
          if (without.includes(self)) throw new AppError('DATABASE_UNAVAILABLE');
          looked.push(self);
        },
      },
      bus: {
        ask: async (to, message) => {
          if (unreached.includes(to)) throw new AppError('WORKER_UNREACHABLE');
          const there = callsOf(to);
          expect(there.isFor(message)).toBe(true);
          return there.handle();
        },
      },
    });
  const state = { isOver: false };
  void callsOf(asWorkerAddress('a:1'))
    .call(BY_THEMSELVES_MS)
    .then(() => {
      state.isOver = true;
    });
  return { looked, clock, state };
}

test('[WH12] every other worker looks at once, and nobody waits any longer', async () => {
  const { looked, state } = called();
  await settled();
  expect(looked).toEqual([B, C]);
  expect(state.isOver).toBe(true);
});

test.each([
  ['one cannot be reached', { unreached: [B] }, [C]],
  ['one has no database', { without: [C] }, [B]],
  ['nobody knows who they are', { others: null }, []],
])('[WH12] where %s its own look is waited for', async (_, world, looking) => {
  const { looked, clock, state } = called(world);
  await settled();
  clock.advance(BY_THEMSELVES_MS - 1);
  await settled();
  expect([looked, state.isOver]).toEqual([looking, false]);
  clock.advance(1);
  await settled();
  expect(state.isOver).toBe(true);
});
