/**
 * Chaos over real processes, real Postgres, Redis and S3: `npm run chaos -- --seed 7 --minutes 1`, or `--seeds 1..10`. `--only stop,postgres` names a
 * culprit, `--only none` breaks nothing; `--plan 3,5` keeps these faults of the plan alone. `--before DIST` starts all nodes with that build, and whoever is
 * started again takes this one: an update under faults. Ends with 1 when anything was violated.
 */
import '../fuzz/sdk-guard.ts';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { copyApp } from './app-copy.ts';
import { NODES, WORKERS } from './cluster.ts';
import { runOnce } from './one-run.ts';
import { type Fault, GROUPS, type Group, nameOf, planOf } from './plan.ts';
import { startStores } from './stores.ts';
import { lineOf } from './summary.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string' },
    minutes: { type: 'string', default: '1' },
    only: { type: 'string' },
    plan: { type: 'string' },
    dist: { type: 'string', default: 'dist' },
    before: { type: 'string' },
    keep: { type: 'boolean', default: false },
  },
});
/** Beside the minutes of a run: start, settling, the restart and all reads. */
const REST_OF_A_RUN_MS_MAX = 300_000;
const START_MS_MAX = 240_000;

const seeds = seedsIn(values.seeds ?? values.seed);
const minutes = Number(values.minutes);
const groups = groupsIn(values.only);
const folder = await mkdtemp(join(tmpdir(), 'atrium-chaos-'));
const limitMs = START_MS_MAX + seeds.length * (minutes * 60_000 + REST_OF_A_RUN_MS_MAX);
setTimeout(() => endAt(`This took longer than ${limitMs} ms; what is left of it is in ${folder}.`), limitMs).unref();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => endAt(`${signal}; what is left is in ${folder}.`));

let failed = 0;
await copyApp(resolve(values.dist), join(folder, 'app'));
const appBefore = values.before === undefined ? null : join(folder, 'app-before');
if (appBefore !== null) await copyApp(resolve(values.before!), appBefore);
const stores = await startStores(folder);
try {
  for (const [index, seed] of seeds.entries()) if (!(await isFine(seed, index))) failed += 1;
} finally {
  await stores.stop();
}
if (failed === 0 && !values.keep) await rm(folder, { recursive: true, force: true });
else console.log(`history and logs: ${folder}`);
process.exit(failed === 0 ? 0 : 1);

async function isFine(seed: number, index: number): Promise<boolean> {
  const plan = chosen(planOf({ seed, forMs: minutes * 60_000, nodes: NODES, workers: WORKERS, groups }));
  console.log(
    `SEED=${seed} PLAN=${plan.map((fault) => `${(fault.atMs / 1_000).toFixed(1)}s ${nameOf(fault)}`).join('; ') || 'nothing'}`,
  );
  const own = join(folder, `seed-${seed}`);
  const options = { seed, minutes, plan, stores, app: join(folder, 'app'), appBefore, folder: own, run: `${index}` };
  const outcome = await runOnce(options).catch((error: unknown) => {
    console.log(`seed=${seed} broke off:`, error);
    return null;
  });
  if (outcome === null) return false;
  const { summary, violations, complaints } = outcome;
  console.log(lineOf(summary));
  for (const { check, what, room, ids } of violations)
    console.log(`  ${check}${room === null ? '' : ` in ${room}`}: ${what}: ${ids.join(' ')}`);
  for (const complaint of complaints) console.log(`  ${complaint}`);
  if (summary.violations === 0) return true;
  const only = values.only === undefined ? '' : ` --only ${values.only}`;
  console.log(`repro: npm run chaos -- --seed ${seed} --minutes ${minutes}${only}`);
  return false;
}

/** Those faults of the plan that were asked for by their numbers, from 0. */
function chosen(plan: readonly Fault[]): readonly Fault[] {
  if (values.plan === undefined) return plan;
  const numbers = values.plan.split(',').map(Number);
  return plan.filter((_, index) => numbers.includes(index));
}

function seedsIn(text: string): number[] {
  const [first = Number.NaN, last = first] = text.split('..').map(Number);
  if (!(Number.isInteger(first) && Number.isInteger(last) && first <= last))
    throw new Error(`${text} is no seed, and no range as 1..10`);
  return Array.from({ length: last - first + 1 }, (_, index) => first + index);
}

function groupsIn(text: string | undefined): readonly Group[] {
  if (text === undefined) return GROUPS;
  if (text === 'none') return [];
  return text.split(',').map((name) => {
    const group = GROUPS.find((one) => one === name);
    if (group === undefined) throw new Error(`${name} is none of ${GROUPS.join(', ')}`);
    return group;
  });
}

/** Leashes and pipes end with this process, and all that was started with them. */
function endAt(sentence: string): never {
  console.error(sentence);
  process.exit(1);
}
