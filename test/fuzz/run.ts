/**
 * The convergence fuzz at length: `npm run fuzz -- --seeds 500 --from 1 --scenario offline`. Every scenario, and `yjs`, gets that many seeds;
 * without `--scenario` all of them do. Ends with 1 when an outcome is not what its scenario promises.
 */
import './sdk-guard.ts';
import { parseArgs } from 'node:util';
import { converge, isAsPromised, type Outcome } from './convergence.ts';
import { type OwnServer, startOwnServer } from './own-server.ts';
import { SCENARIO_NAMES, type ScenarioName } from './scenarios.ts';
import { sdkTroubles } from './sdk-guard.ts';
import { convergeYjs } from './yjs.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '100' },
    from: { type: 'string', default: '1' },
    scenario: { type: 'string' },
    parallel: { type: 'string', default: '6' },
    /** Prints both trees of every divergence. */
    verbose: { type: 'boolean', default: false },
  },
});
const chosen = values.scenario === undefined ? [...SCENARIO_NAMES, 'yjs'] : [values.scenario];
const unknown = chosen.find((name) => name !== 'yjs' && !(SCENARIO_NAMES as string[]).includes(name));
if (unknown !== undefined) throw new Error(`there is no scenario ${unknown}; there are ${SCENARIO_NAMES.join(', ')} and yjs`);
const [seeds, from, parallel] = [values.seeds, values.from, values.parallel].map(Number) as [number, number, number];

const server = await startOwnServer();
let failed = 0;
for (const name of chosen) failed += name === 'yjs' ? await runYjs(server) : await runStorage(server, name as ScenarioName);
await server.stop();
process.exit(failed === 0 ? 0 : 1);

async function runStorage(server: OwnServer, scenario: ScenarioName): Promise<number> {
  const rebuildsBefore = sdkTroubles.textRebuilds;
  const startedMs = performance.now();
  const outcomes: Outcome[] = [];
  const crashed = await forEachSeed(async (seed) => {
    const outcome = await converge(server, { scenario, seed });
    outcomes.push(outcome);
    report(outcome);
  }, scenario);
  const all = outcomes.flatMap(({ divergences }) => divergences);
  const sum = (name: keyof Outcome['counts']): number => outcomes.reduce((total, { counts }) => total + counts[name], 0);
  const failed = crashed + outcomes.filter((outcome) => !isAsPromised(outcome)).length;
  console.log(
    `scenario=${scenario} seeds=${seeds} failed=${failed}`,
    `diverged=${outcomes.filter(({ divergences }) => divergences.length > 0).length}`,
    `serverFaults=${outcomes.filter(({ serverFaults }) => serverFaults.length > 0).length}`,
    `clients: server-side=${all.filter(({ fault }) => fault === 'server').length}`,
    `client-side=${all.filter(({ fault }) => fault === 'client').length}`,
    `healed=${all.filter(({ isHealed }) => isHealed).length} stuck=${all.filter(({ how }) => how === 'stuck').length}`,
    `threw=${outcomes.filter(({ thrown }) => thrown.length > 0).length} textRebuilds=${sdkTroubles.textRebuilds - rebuildsBefore}`,
    `| steps=${sum('steps')} cuts=${sum('cuts')} undos=${sum('undos')} patches=${sum('patches')}`,
    `seconds=${Math.round((performance.now() - startedMs) / 1_000)}`,
  );
  return failed;
}

async function runYjs(server: OwnServer): Promise<number> {
  const startedMs = performance.now();
  let faulty = 0;
  let cuts = 0;
  const crashed = await forEachSeed(async (seed) => {
    const { faults, counts } = await convergeYjs(server, { seed });
    cuts += counts.cuts;
    if (faults.length === 0) return;
    faulty += 1;
    console.log(`FAILED ${reproduce('yjs', seed)}\n  ${faults.join('\n  ')}`);
  }, 'yjs');
  console.log(
    `scenario=yjs seeds=${seeds} failed=${crashed + faulty} | cuts=${cuts} seconds=${Math.round((performance.now() - startedMs) / 1_000)}`,
  );
  return crashed + faulty;
}

/** Runs all seeds, a few at a time; returns how many ended in an error. */
async function forEachSeed(work: (seed: number) => Promise<void>, scenario: string): Promise<number> {
  let next = from;
  let crashed = 0;
  const worker = async (): Promise<void> => {
    while (next < from + seeds) {
      const seed = next++;
      await work(seed).catch((error: unknown) => {
        crashed += 1;
        console.log(`CRASHED ${reproduce(scenario, seed)}`, error);
      });
    }
  };
  await Promise.all(Array.from({ length: parallel }, worker));
  return crashed;
}

function report(outcome: Outcome): void {
  const { scenario, seed, divergences, serverFaults, thrown } = outcome;
  if (divergences.length === 0 && serverFaults.length === 0) return;
  console.log(`${isAsPromised(outcome) ? 'diverged' : 'FAILED'} ${reproduce(scenario, seed)}`);
  for (const fault of serverFaults) console.log(`  the server: ${fault}`);
  for (const { client, how, fault, isHealed, hasThrown, clientJson, serverJson } of divergences) {
    const threw = hasThrown ? ', after it threw' : '';
    console.log(`  ${client} ${how}, ${fault}-side, ${isHealed ? 'healed' : 'not healed'} by its reconnect${threw}`);
    if (values.verbose) console.log(`    client ${JSON.stringify(clientJson)}\n    server ${JSON.stringify(serverJson)}`);
  }
  for (const message of new Set(thrown)) console.log(`  threw ${message}`);
}

function reproduce(scenario: string, seed: number): string {
  return `npm run fuzz -- --scenario ${scenario} --seeds 1 --from ${seed} --verbose`;
}
