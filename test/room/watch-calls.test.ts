import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { WatchCalls } from '../../src/room/watch-calls.ts';
import { manualClock } from '../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const [A, B, C] = [asWorkerAddress('a:1'), asWorkerAddress('b:1'), asWorkerAddress('c:1')];
const BY_THEMSELVES_MS = 1_250;

interface World {
  /** Null: the database, which knows who they are, is away. */
  readonly others?: readonly WorkerAddress[] | null;
  readonly unreached?: readonly WorkerAddress[];
  /** Those that ask the database in vain. */
  readonly without?: readonly WorkerAddress[];
  /** Those of a version that does not know the message. */
  readonly older?: readonly WorkerAddress[];
}

/** What worker A has called the others for; who has looked. */
function workersIn({ others = [B, C], unreached = [], without = [], older = [] }: World) {
  const looked: WorkerAddress[] = [];
  const clock = manualClock();
  const callsOf = (self: WorkerAddress): WatchCalls =>
    new WatchCalls({
      clock,
      log: silentLog,
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
          if (older.includes(to)) return null;
          const there = callsOf(to);
          expect(there.isFor(message)).toBe(true);
          return there.handle();
        },
      },
    });
  return { calls: callsOf(A), looked, clock };
}

function called(world: World = {}) {
  const { calls, looked, clock } = workersIn(world);
  const state = { isOver: false };
  void calls.call(BY_THEMSELVES_MS).then(() => {
    state.isOver = true;
  });
  return { looked, clock, state };
}

test('[WH12] every worker looks at once, and nobody waits any longer', async () => {
  const { looked, state } = called();
  await settled();
  expect(looked).toEqual([A, B, C]);
  expect(state.isOver).toBe(true);
});

test.each<[string, World, readonly WorkerAddress[]]>([
  ['one cannot be reached', { unreached: [B] }, [A, C]],
  ['one has no database', { without: [C] }, [A, B]],
  ['this one has none', { without: [A] }, [B, C]],
  ['one does not know what it is asked', { older: [B] }, [A, C]],
  ['nobody knows who they are', { others: null }, [A]],
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

test('[WH12] a worker that has a lease again looks, and lives without an answer', async () => {
  const { calls, looked } = workersIn({});
  await calls.lookAgain();
  expect(looked).toEqual([A]);
  await workersIn({ without: [A] }).calls.lookAgain();
});
