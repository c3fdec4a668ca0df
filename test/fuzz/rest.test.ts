/** The fuzz of REST with a few seeds; `npm run fuzz:rest` does more. */
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RestFuzz, type RestScenario, startRestFuzz } from './rest/fuzz.ts';

let fuzz: RestFuzz;
beforeAll(async () => {
  fuzz = await startRestFuzz();
});
afterAll(() => fuzz.stop());

const repeat = (scenario: RestScenario, seed: number, count: number): string =>
  `npm run fuzz:rest -- --scenario ${scenario} --seeds 1 --from ${seed} --calls ${count}`;

test.each([1, 2])('[AE20] [AE21] whatever is asked is answered as promised (seed %i)', async (seed) => {
  expect(await fuzz.run('calls', { seed, count: 50 }), repeat('calls', seed, 50)).toEqual([]);
});

test('[AE22] a JSON Patch does what RFC 6902 says', async () => {
  expect(await fuzz.run('patches', { seed: 1, count: 50 }), repeat('patches', 1, 50)).toEqual([]);
});

test('[AE23] lists that are read page by page show once what stays', async () => {
  expect(await fuzz.run('pages', { seed: 2, count: 1 }), repeat('pages', 2, 1)).toEqual([]);
});
