/**
 * Workers, rooms and clients on virtual time, under faults that follow from a seed; `npm run sim` runs more seeds. Every promise is judged by what
 * clients saw and what was committed (reliability 3.1, 3.2).
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { runBatch } from './batch.ts';
import { MUTANTS } from './mutants.ts';
import { PINNED } from './pinned.ts';
import { Pool } from './pool.ts';

/** A newcomer's first test run is not to take all the time that CI has. */
const SEEDS = process.env.CI ? 4_000 : 2_000;
/** On a slow machine fewer, so that it does not hold up a run of everything; `npm run sim` has no such bound. */
const BUDGET_MS = 30_000;
const SEEDS_LEAST = 20;
const MUTANT_SEEDS_MAX = 1_500;
/** They take what the tests beside this one leave. */
const PROCESSES = 2;
const TIMEOUT_MS = 3_600_000; // for a machine that does much else

let pool: Pool;
beforeAll(async () => {
  pool = await Pool.open(PROCESSES);
});
afterAll(() => pool.close());

const asItIs = { mutant: null, only: null } as const;

test('[SM1] the same seed takes the same course, in this process and in others', async () => {
  const batch = { ...asItIs, from: 1, seeds: 10 };
  const here = await runBatch(batch);
  expect((await runBatch(batch)).hashes).toEqual(here.hashes);
  const there = await pool.run({ ...batch, until: 'end' });
  expect(there.hashes).toEqual(here.hashes);
  expect(new Set(here.hashes).size).toBe(here.seeds);
});

test.each(PINNED)('[SM2] nothing is broken with the seed that once found: $found', async ({ seed }) => {
  expect((await runBatch({ ...asItIs, from: seed, seeds: 1 })).failures).toEqual([]);
});

test(`[SM2] nothing is broken in ${SEEDS} seeds, or as many as half a minute holds`, {
  timeout: TIMEOUT_MS,
}, async () => {
  const sum = await pool.run({ ...asItIs, from: 1, seeds: SEEDS, until: 'first failure', budgetMs: BUDGET_MS });
  console.log(
    `seeds 1 to ${sum.seeds} of ${SEEDS}: acked ${sum.acked}, takeovers ${sum.takeovers}, virtual seconds ${Math.round(sum.virtualMs / 1_000)}`,
  );
  expect(sum.failures, 'npm run sim -- --seed <seed>').toEqual([]);
  expect(sum.seeds).toBeGreaterThanOrEqual(SEEDS_LEAST);
  expect(sum.acked).toBeGreaterThan(sum.seeds * 20);
  expect(sum.takeovers).toBeGreaterThan(sum.seeds);
});

describe('a worker with one mistake in what it is given', () => {
  test.each(Object.entries(MUTANTS))('[SM4] is caught: %s', { timeout: TIMEOUT_MS }, async (name, { under = null, from = 1 }) => {
    const sum = await pool.run({ mutant: name, only: under, from, seeds: MUTANT_SEEDS_MAX, until: 'first failure' });
    const [first] = sum.failures;
    console.log(
      `${name}, ${MUTANTS[name]!.what}: ${first === undefined ? 'not caught' : `seed ${first.seed}, ${first.violations[0]!.rule}`}`,
    );
    expect(sum.failures).not.toEqual([]);
  });
});
