/**
 * The kill test at length: `npm run kill -- --rounds 50 --seed 1`; with `--scenario notifications` that of the outbox. Build first. Ends with 1 when
 * a round is not fine.
 */
import '../fuzz/sdk-guard.ts';
import { parseArgs } from 'node:util';
import { isFine, KillRun, lineOf, type Round, totalOf } from './rounds.ts';
import { runNotifications } from './run-notifications.ts';

const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '50' },
    seed: { type: 'string', default: '1' },
    scenario: { type: 'string', default: 'rooms' },
  },
});
if (values.scenario === 'notifications')
  process.exit((await runNotifications({ rounds: Number(values.rounds), seed: Number(values.seed) })) ? 0 : 1);
const run = await KillRun.start();
const rounds: Round[] = [];
let lastFaults: string[] = [];
try {
  for (let round = 1; round <= Number(values.rounds); round += 1) {
    const result = await run.round({ round, seed: Number(values.seed) + round - 1 });
    rounds.push(result);
    console.log(lineOf(result));
    for (const name of ['lost', 'duplicated', 'foreign', 'faults'] as const) {
      if (result[name].length > 0) console.log(`  ${name}: ${result[name].slice(0, 20).join(' ').slice(0, 2_000)}`);
    }
  }
  lastFaults = await run.lastRestart();
} finally {
  await run.stop();
}
for (const fault of lastFaults) console.log(`after the last restart: ${fault}`);
const byKind: Record<string, number> = {};
for (const { ackedByKind } of rounds)
  for (const [kind, count] of Object.entries(ackedByKind)) byKind[kind] = (byKind[kind] ?? 0) + count;
console.log(
  `acked by kind: ${Object.entries(byKind)
    .map(([kind, count]) => `${kind}=${count}`)
    .join(' ')}`,
);
console.log(totalOf(rounds));
process.exit(rounds.every(isFine) && lastFaults.length === 0 ? 0 : 1);
