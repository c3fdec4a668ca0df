/**
 * The processes of a bench: each on its core, and none left behind, whether the bench ends well, fails or is interrupted.
 *
 * A server's private Postgres is not in this list; it ends with its server.
 */
import { type ChildProcess, type StdioOptions, spawn, spawnSync } from 'node:child_process';
import { STOP_MS_MAX } from './config.ts';

export interface Start {
  readonly core: number;
  readonly env?: Readonly<Record<string, string>>;
  /** TypeScript is run through tsx, JavaScript by this Node; a program runs by itself. Only a script has a message channel. */
  readonly language: 'ts' | 'js' | 'program';
  readonly args?: readonly string[];
  /** `idle`: whoever else is on its core goes first, from the kernel's next tick at the latest; `batch`: it interrupts nobody by waking up (sched(7)). */
  readonly priority?: 'idle' | 'batch';
}

export interface Started {
  readonly child: ChildProcess;
  readonly pid: number;
  /** The last it said, for the error message when it fails. */
  readonly output: () => string;
  /** Resolves with a sentence when it has ended. Never rejects. */
  readonly ended: Promise<string>;
}

const OUTPUT_CHARACTERS_MAX = 4_000;
const NODE = [process.execPath, '--expose-gc', '--import', new URL('./servers/collect-garbage.mjs', import.meta.url).href];
const living = new Set<Started>();
let stopping = false;

/** False on a machine without `taskset`: then the system places the processes, and the figures scatter more. */
export const canPin = spawnSync('taskset', ['-c', '0', 'true']).status === 0;

const RUNNERS: Readonly<Record<Start['language'], readonly string[]>> = {
  ts: [...NODE, '--import', 'tsx'],
  js: NODE,
  program: canPin ? ['setpriv', '--pdeathsig', 'KILL'] : [], // without a channel it would not hear of our end
};

/** @throws an Error when the bench is being stopped. */
export function start(script: URL, { core, env, language, args: said = [], priority }: Start): Started {
  if (stopping) throw new Error('interrupted');
  const whole = [...RUNNERS[language], script.pathname, ...said];
  const [command, ...args] = canPin
    ? ['taskset', '-c', String(core), ...(priority === undefined ? [] : ['chrt', `--${priority}`, '0']), ...whole]
    : whole;
  const { PATH = '', HOME = '' } = process.env; // nothing else: settings of the shell must not leak into a server
  const stdio: StdioOptions = ['ignore', 'pipe', 'pipe', ...(language === 'program' ? [] : ['ipc' as const])];
  const child = spawn(command!, args, { env: { PATH, HOME, ...env }, stdio });
  let output = '';
  for (const stream of [child.stdout!, child.stderr!]) {
    stream.on('data', (text) => {
      output = (output + text).slice(-OUTPUT_CHARACTERS_MAX);
    });
  }
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(`it ended with ${code ?? signal}`));
  });
  if (child.pid === undefined) throw new Error(`${script.pathname} could not be started`);
  const started: Started = { child, pid: child.pid, output: () => output.trim(), ended };
  living.add(started);
  void ended.then(() => living.delete(started));
  return started;
}

/** Asks it to end, and makes it end when it takes too long. */
export async function stop({ child, ended }: Started): Promise<void> {
  child.kill('SIGTERM');
  const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS_MAX);
  await ended;
  clearTimeout(timer);
}

/** Whether the bench is being interrupted. */
export function isStopping(): boolean {
  return stopping;
}

/** Ends everything, and lets nothing new start. */
export async function stopAll(): Promise<void> {
  stopping = true;
  await Promise.all([...living].map(stop));
}

process.on('exit', () => {
  for (const { child } of living) child.kill('SIGKILL');
});
