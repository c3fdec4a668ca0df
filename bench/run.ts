/**
 * The runner behind `npm run bench`: which cases, how often, and in which order; then the results page.
 *
 * Every run has a fresh server process and a fresh load process. Servers take turns within a round, so that whatever else happens on the
 * machine happens to all of them.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type Case, type Outcome, serversOf, type Variant } from './case.ts';
import { CORES, RUN } from './config.ts';
import { CASES } from './load/cases.ts';
import { GROWTH_CASES } from './load/growth-cases.ts';
import type { Job } from './load/job.ts';
import type { Report } from './load/process.ts';
import { METRICS } from './metrics.ts';
import { writePage } from './page/write.ts';
import { isStopping, start, stop, stopAll } from './processes.ts';
import { inQuiet } from './quiet.ts';
import { circumstances, entriesOf, keep, type Run } from './record.ts';
import { resultsPage } from './report.ts';
import { addressOf, type Server } from './servers/server.ts';
import { verify } from './verify.ts';

const LOAD = new URL('./load/process.ts', import.meta.url);
const ALL = [...CASES, ...GROWTH_CASES];
const PAGE = new URL('./RESULTS.md', import.meta.url);

interface Plan {
  readonly cases: readonly Case[];
  readonly rounds: number;
  /** Null: as long as each case says. */
  readonly seconds: number | null;
  /** Names of the servers that take part; empty for all. */
  readonly only: readonly string[];
}

/**
 * `[--case NAME]… [--growth] [--server NAME]… [--rounds N] [--seconds S] [--list] [--verify]`; `--growth` runs the curves; without it and
 * `--case` the load is checked first, then all cases run.
 * @throws an Error naming the option that is wrong.
 */
function readArguments(): Plan & { readonly does: 'list' | 'verify' | 'run' | 'verify and run' } {
  const { values } = parseArgs({
    options: {
      case: { type: 'string', multiple: true, default: [] },
      server: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string', default: String(RUN.rounds) },
      seconds: { type: 'string' },
      growth: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
      verify: { type: 'boolean', default: false },
    },
  });
  const cases = values.case.length > 0 ? values.case.map(caseNamed) : values.growth ? GROWTH_CASES : CASES;
  const does = values.list
    ? 'list'
    : values.verify
      ? 'verify'
      : values.growth || values.case.length > 0
        ? 'run'
        : 'verify and run';
  const rounds = atLeastOne(values.rounds, '--rounds');
  if (!Number.isInteger(rounds)) throw new Error('--rounds takes a whole number');
  const seconds = values.seconds === undefined ? null : atLeastOne(values.seconds, '--seconds');
  return { cases, rounds, seconds, only: values.server.map(serverNamed), does };
}

function caseNamed(name: string): Case {
  const theCase = ALL.find((candidate) => candidate.name === name);
  if (theCase === undefined) throw new Error(`there is no case ${name}; there are ${ALL.map((known) => known.name).join(', ')}`);
  return theCase;
}

function serverNamed(name: string): string {
  const known = [...new Set(ALL.flatMap(({ subjects, peers }) => [...subjects, ...peers]).map((server) => server.name))];
  if (!known.includes(name)) throw new Error(`there is no server ${name}; there are ${known.join(', ')}`);
  return name;
}

function atLeastOne(text: string, option: string): number {
  const value = Number(text);
  if (!(value >= 1 && Number.isFinite(value))) throw new Error(`${option} takes a number of at least 1, not ${text}`);
  return value;
}

/** Runs the cases one after the other; one that fails leaves its old results in place. Resolves with the number of failures. */
async function runAll({ cases, rounds, seconds: asked, only }: Plan): Promise<number> {
  let failures = 0;
  for (const theCase of cases) {
    try {
      const about = circumstances();
      const seconds = asked ?? theCase.seconds ?? RUN.seconds;
      const runs = await runCase(theCase, { rounds, seconds, only });
      if (runs.length > 0) keep({ caseName: theCase.name, seconds, rounds, circumstances: about, runs });
    } catch (error) {
      if (isStopping()) throw error;
      failures += 1;
      console.error(`${theCase.name} failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }
  const entries = entriesOf(ALL);
  writeFileSync(PAGE, resultsPage(entries));
  await writePage(entries);
  return failures;
}

async function runCase(
  theCase: Case,
  { rounds, seconds, only }: Pick<Plan, 'rounds' | 'only'> & { seconds: number },
): Promise<Run[]> {
  const runs: Run[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for (const variant of theCase.variants) {
      const servers = serversOf(theCase, variant).filter(({ name }) => only.length === 0 || only.includes(name));
      for (const server of rotated(servers, round)) {
        const turn = { theCase, variant, server, seconds };
        const { outcome, retaken } = await inQuiet(() => (theCase.peers.includes(server) ? peersRun(turn) : runOnce(turn)));
        runs.push({ round, variant: variant.name, server: server.name, retaken, ...outcome });
        const again = retaken === 0 ? '' : `  (taken anew: ${retaken})`;
        console.log(`${theCase.name} ${round}/${rounds}  ${variant.name}  ${server.name}  ${inShort(theCase, outcome)}${again}`);
      }
    }
  }
  return runs;
}

/** Nobody is always first. */
function rotated(servers: readonly Server[], round: number): Server[] {
  const shift = round % servers.length;
  return [...servers.slice(shift), ...servers.slice(0, shift)];
}

interface Turn {
  readonly theCase: Case;
  readonly variant: Variant;
  readonly server: Server;
  readonly seconds: number;
}

/** An hour of everybody's figures is not to hang on a peer: it is tried once more, then its run has no figures and says why. */
async function peersRun(turn: Turn): Promise<Outcome> {
  const reasons: string[] = [];
  while (reasons.length < 2) {
    try {
      return await runOnce(turn);
    } catch (error) {
      if (isStopping()) throw error;
      reasons.push(String(error instanceof Error ? error.message : error).split('\n')[0]!);
      console.error(`${turn.theCase.name}, a peer failed: ${reasons.at(-1)}`);
    }
  }
  return { values: {}, problems: [`failed twice: ${reasons.join('; ')}`] };
}

async function runOnce({ theCase, variant, server, seconds }: Turn): Promise<Outcome> {
  const names = { caseName: theCase.name, variantName: variant.name, serverName: server.name };
  const running = await server.start();
  try {
    const address = addressOf(running);
    return await askForLoad({ ...names, address, seconds, warmupSeconds: theCase.warmupSeconds ?? RUN.warmupSeconds });
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${variant.name} on ${server.name}: ${reason}\n${running.output()}`, { cause });
  } finally {
    await running.stop();
  }
}

/** @throws an Error when the load process could not do its job. */
async function askForLoad(job: Job): Promise<Outcome> {
  const started = start(LOAD, { core: CORES.load, language: 'ts' });
  try {
    const reported = new Promise<Report>((resolve) => started.child.once('message', (report) => resolve(report as Report)));
    started.child.send(job);
    const report = await Promise.race([
      reported,
      started.ended.then((reason): Report => ({ failure: `the load process told nothing, ${reason}: ${started.output()}` })),
    ]);
    if ('failure' in report) throw new Error(report.failure);
    return report.outcome;
  } finally {
    await stop(started);
  }
}

function inShort({ metrics }: Case, { values, problems }: Outcome): string {
  const figures = metrics.flatMap((metric) => {
    const value = values[metric];
    return value === undefined ? [] : [`${METRICS[metric].title} ${value.toFixed(METRICS[metric].digits)}`];
  });
  return [figures.join(', '), ...problems].join('  ! ');
}

function list(): number {
  for (const { name, question, variants, subjects, peers } of ALL) {
    const servers = [...subjects, ...peers].map((server) => server.name);
    console.log(`${name}: ${question}\n  ${variants.map((variant) => variant.name).join('; ')}\n  on ${servers.join(', ')}`);
  }
  return 0;
}

/** Resolves with the exit code. */
async function main(): Promise<number> {
  const { does, ...plan } = readArguments();
  if (does === 'list') return list();
  if (does !== 'run') await verify();
  return does === 'verify' ? 0 : Math.min(1, await runAll(plan));
}

// What is under way fails when its processes end, cleans up after itself, and nothing new starts.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stopAll);

// By force: after a failure real clients may still try to come back to a server that is gone.
main().then(process.exit, (error: unknown) => {
  console.error(isStopping() ? 'interrupted' : error instanceof Error ? error.message : String(error));
  process.exit(isStopping() ? 130 : 2);
});
