/** kill -9 between comments and notifications, at length: `npm run kill -- --scenario notifications --rounds 50 --seed 1`. */
import { isFineRound, lineOfRound, NotificationRun } from './notification-rounds.ts';

/** Resolves with whether all rounds were fine, and the kill fell between a comment and its notification at least once. */
export async function runNotifications({ rounds, seed }: { rounds: number; seed: number }): Promise<boolean> {
  const run = await NotificationRun.start();
  let [fine, acked, late, kills] = [0, 0, 0, 0];
  try {
    for (let round = 1; round <= rounds; round += 1) {
      const result = await run.round({ round, seed: seed + round - 1 });
      console.log(lineOfRound(result));
      for (const name of ['lost', 'duplicated', 'foreign', 'faults'] as const)
        if (result[name].length > 0) console.log(`  ${name}: ${result[name].slice(0, 20).join('; ').slice(0, 2_000)}`);
      if (isFineRound(result)) fine += 1;
      acked += result.acked;
      late += result.late;
      kills += result.kills;
    }
  } finally {
    await run.stop();
  }
  console.log(`rounds=${rounds} fine=${fine} kills=${kills} acked=${acked} late=${late}`);
  return fine === rounds && late > 0;
}
