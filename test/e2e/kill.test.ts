/** kill -9 under load, a few rounds of it; `npm run kill` does more (issue A, Durability). Runs the built server. */
import '../fuzz/sdk-guard.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { isFineRound, lineOfRound, NotificationRun } from '../kill/notification-rounds.ts';
import { KillRun, lineOf } from '../kill/rounds.ts';
import { isExternal } from '../support/e2e/server.ts';

const SEEDS = [1, 2, 3];
const TIMEOUT_MS = 120_000;

describe.skipIf(isExternal)('a server that is killed', () => {
  let run: KillRun | undefined;
  beforeAll(async () => {
    run = await KillRun.start();
  });
  afterAll(async () => run?.stop());

  test.each(SEEDS)(
    '[KI3] has every acknowledged write once, and others at most once (seed %i)',
    { timeout: TIMEOUT_MS },
    async (seed) => {
      const round = await run!.round({ round: seed, seed });
      console.log(lineOf(round));
      expect(round).toMatchObject({ lost: [], duplicated: [], foreign: [], faults: [] });
      expect(round.acked).toBeGreaterThan(100);
    },
  );

  test('[KI4] has, after one more kill, every room as it was left, and leaves no process behind', {
    timeout: TIMEOUT_MS,
  }, async () => {
    expect(await run!.lastRestart()).toEqual([]);
  });
});

describe.skipIf(isExternal)('a server that is killed between comments and notifications', () => {
  test('[KI5] notifies of every comment that is there once, and tells webhooks once', { timeout: 2 * TIMEOUT_MS }, async () => {
    const run = await NotificationRun.start();
    try {
      let late = 0;
      for (const seed of SEEDS) {
        const round = await run.round({ round: seed, seed });
        console.log(lineOfRound(round));
        expect(round).toMatchObject({ lost: [], duplicated: [], foreign: [], faults: [] });
        expect(isFineRound(round)).toBe(true);
        late += round.late;
      }
      expect(late).toBeGreaterThan(0); // the kill fell between
    } finally {
      await run.stop();
    }
  });
});
