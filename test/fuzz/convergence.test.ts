/** The convergence fuzz with a few seeds; `npm run fuzz` does more (issue A, Tests; protocol 5.9, 6.5). */
import './sdk-guard.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { converge, isAsPromised } from './convergence.ts';
import { type OwnServer, startOwnServer } from './own-server.ts';
import { PINNED, PINNED_YJS } from './pinned.ts';
import { SCENARIO_NAMES } from './scenarios.ts';
import { convergeYjs } from './yjs.ts';

const SEEDS = [1, 2, 3, 4, 5, 6];
const YJS_SEEDS = Array.from({ length: 20 }, (_, index) => index + 1);
/** Runs at a time; most of a run is waiting. */
const AT_ONCE = { concurrent: true, timeout: 60_000 } as const;

let server: OwnServer;
beforeAll(async () => {
  server = await startOwnServer();
});
afterAll(() => server.stop());

const runs = [...PINNED, ...SCENARIO_NAMES.flatMap((scenario) => SEEDS.map((seed) => ({ scenario, seed })))];

describe('SDK clients that edit one Storage tree', () => {
  test.each(runs)('[CF1] end with what the server holds, or by their own fault ($scenario, seed $seed)', AT_ONCE, async (run) => {
    const outcome = await converge(server, run);
    expect(outcome.serverFaults).toEqual([]);
    const repeat = `npm run fuzz -- --scenario ${run.scenario} --seeds 1 --from ${run.seed} --verbose`;
    expect(isAsPromised(outcome) ? [] : outcome.divergences, repeat).toEqual([]);
  });
});

describe('Yjs clients of both kinds that edit one document', () => {
  test.each([...PINNED_YJS, ...YJS_SEEDS])('[CF2] end with one document (seed %i)', AT_ONCE, async (seed) => {
    expect((await convergeYjs(server, { seed })).faults).toEqual([]);
  });
});
