/**
 * The simulation at length: `npm run sim -- --seeds 20000 --from 1`. With `--mutant M3`, or `--mutant all`, the tests of the test; with `--faults pause`
 * nothing else goes wrong; with `--seed 17` one run, told line by line. Ends with 1 when a seed fails, or a mutant is not caught.
 */
import { parseArgs } from 'node:util';
import type { Tally } from './batch.ts';
import { MUTANTS, NONE } from './mutants.ts';
import { type Fault, isFault } from './nemesis.ts';
import { Pool } from './pool.ts';
import { simulate } from './simulation.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '20000' },
    from: { type: 'string', default: '1' },
    mutant: { type: 'string' },
    faults: { type: 'string' },
    seed: { type: 'string' },
    processes: { type: 'string', default: '2' },
  },
});
const [seeds, from] = [Number(values.seeds), Number(values.from)];
const { mutant, faults } = values;
if (mutant !== undefined && mutant !== 'all' && !(mutant in MUTANTS))
  throw new Error(`there is no mutant ${mutant}; there are ${Object.keys(MUTANTS).join(', ')}`);
if (faults !== undefined && !isFault(faults)) throw new Error(`there is no fault "${faults}"`);
const only: Fault | null = faults ?? null;
process.exit((await (values.seed === undefined ? runMany() : tell(Number(values.seed)))) ? 0 : 1);

async function tell(seed: number): Promise<boolean> {
  const { log, violations, hash } = await simulate({ seed, mutant: MUTANTS[mutant ?? ''] ?? NONE, only, keepsLog: true });
  console.log(log.join('\n'));
  for (const { rule, what, atMs } of violations) console.log(`at ${atMs} ms: ${rule}: ${what}`);
  console.log(`seed ${seed} hash ${hash} violations ${violations.length}`);
  return violations.length === 0;
}

async function runMany(): Promise<boolean> {
  const pool = await Pool.open(Number(values.processes));
  const names = mutant === undefined ? [null] : mutant === 'all' ? Object.keys(MUTANTS) : [mutant];
  let isFine = true;
  for (const name of names) {
    const sum = await runOne(pool, name);
    isFine &&= sum.failures.length > 0 === (name !== null);
  }
  pool.close();
  return isFine;
}

async function runOne(pool: Pool, name: string | null): Promise<Tally> {
  const startedMs = performance.now();
  const sum = await pool.run({
    from,
    seeds,
    mutant: name,
    only: only ?? (name === null ? null : (MUTANTS[name]!.under ?? null)),
    until: 'end',
  });
  const seconds = (performance.now() - startedMs) / 1_000;
  for (const { seed, violations } of sum.failures.slice(0, name === null ? 20 : 1)) {
    console.log(`seed ${seed}: npm run sim -- --seed ${seed}${name === null ? '' : ` --mutant ${name}`}`);
    for (const { rule, what, atMs } of violations) console.log(`  at ${atMs} ms: ${rule}: ${what.slice(0, 500)}`);
  }
  const what = name === null ? 'the code as it is' : `${name} ${MUTANTS[name]!.what}`;
  console.log(
    `${what}: failing ${sum.failures.length} of ${sum.seeds} seeds from ${from} | acked=${sum.acked} reads=${sum.reads} takeovers=${sum.takeovers}`,
    `| virtual seconds=${Math.round(sum.virtualMs / 1_000)} seconds=${Math.round(seconds)} seeds/s=${(sum.seeds / seconds).toFixed(1)}`,
  );
  return sum;
}
