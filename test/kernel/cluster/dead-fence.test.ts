import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { asIncarnation } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { fenceAtOnce } from '../../../src/kernel/cluster/dead-fence.ts';
import { LEASE } from '../../../src/kernel/cluster/lease.ts';
import type { Sql } from '../../../src/kernel/persistence/sql.ts';
import { manualClock } from '../../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A database that is away, and a fence that tries. */
function aFence() {
  const clock = manualClock();
  const database = { isAway: true, tries: 0 };
  const answer = async (): Promise<never[]> => {
    database.tries += 1;
    if (database.isAway) throw new AppError('DATABASE_UNAVAILABLE');
    return [];
  };
  const db: Sql = {
    query: answer,
    change: async () => (await answer()).length,
    transaction: (work) => work(db),
  };
  let isOver = false;
  void fenceAtOnce(asIncarnation('dead'), { db, clock, random: systemRandom, log: silentLog }).then(() => {
    isOver = true;
  });
  const pass = async (ms: number): Promise<void> => {
    for (let passedMs = 0; passedMs < ms; passedMs += 10) {
      clock.advance(10);
      await settled();
    }
  };
  return { database, pass, isOver: () => isOver };
}

test('[OW11] a death that the database did not hear of is told again, and once more it is not when it has', async () => {
  const { database, pass, isOver } = aFence();
  await pass(1_000);
  expect(database.tries).toBeGreaterThan(1);
  expect(isOver()).toBe(false);
  database.isAway = false;
  await pass(500);
  expect(isOver()).toBe(true);
  const { tries } = database;
  await pass(10_000);
  expect(database.tries).toBe(tries);
});

test('[OW12] it is given up when the lease has run out by itself, after a bounded number of tries', async () => {
  const { database, pass, isOver } = aFence();
  await pass(LEASE.lastsMs + LEASE.graceMs - 10);
  expect(isOver()).toBe(false);
  await pass(600);
  expect(isOver()).toBe(true);
  expect(database.tries).toBeLessThan(400);
});
