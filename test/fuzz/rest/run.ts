/**
 * The fuzz of REST at length: `npm run fuzz:rest -- --seeds 100 --from 1 --calls 50 --scenario calls --only 'POST /v2/rooms'`. Without `--scenario`
 * all three are run. Ends with 1 when something was wrong.
 */
import { parseArgs } from 'node:util';
import { type RestScenario, SCENARIOS, startRestFuzz } from './fuzz.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20' },
    from: { type: 'string', default: '1' },
    calls: { type: 'string', default: '50' },
    scenario: { type: 'string' },
    /** A part of the names of the operations to call. */
    only: { type: 'string', default: '' },
  },
});
const chosen = values.scenario === undefined ? SCENARIOS : [values.scenario as RestScenario];
if (!SCENARIOS.includes(chosen[0]!)) throw new Error(`there is no scenario ${chosen[0]}; there are ${SCENARIOS.join(', ')}`);
const [seeds, from, count] = [values.seeds, values.from, values.calls].map(Number) as [number, number, number];

const fuzz = await startRestFuzz(values.only);
let failed = 0;
for (const scenario of chosen) {
  const startedMs = performance.now();
  let faulty = 0;
  for (let seed = from; seed < from + seeds; seed += 1) {
    const faults = await fuzz.run(scenario, { seed, count });
    const repeat = `npm run fuzz:rest -- --scenario ${scenario} --seeds 1 --from ${seed} --calls ${count} --only '${values.only}'`;
    if (faults.length > 0) console.log(`FAILED ${repeat}\n  ${faults.join('\n  ')}`);
    faulty += faults.length > 0 ? 1 : 0;
  }
  failed += faulty;
  console.log(
    `scenario=${scenario} seeds=${seeds} failed=${faulty} seconds=${Math.round((performance.now() - startedMs) / 1_000)}`,
  );
}
await fuzz.stop();
process.exit(failed === 0 ? 0 : 1);
