/**
 * A supervisor in a process of its own, and the workers it says it started. Only these are ever signalled, by their ids, and none is left
 * when the test is over.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { until } from './e2e/until.ts';

const READY_TIMEOUT_MS = 30_000;
const END_TIMEOUT_MS = 32_000;

interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** A line of the log or of a worker, each JSON. */
type Line = Readonly<Record<string, unknown>>;

export class Supervised {
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  #stdout = '';
  stderr = '';

  constructor(args: readonly string[], settings: Readonly<Record<string, string>>) {
    const { PATH = '', HOME = '' } = process.env;
    this.#child = spawn(process.execPath, args, { env: { PATH, HOME, ...settings } });
    this.#child.stdout!.on('data', (text) => {
      this.#stdout += text;
    });
    this.#child.stderr!.on('data', (text) => {
      this.stderr += text;
    });
    this.exited = new Promise((resolve) => this.#child.once('exit', (code, signal) => resolve({ code, signal })));
    onTestFinished(() => this.#clean());
  }

  get stdout(): string {
    return this.#stdout;
  }

  get lines(): Line[] {
    return this.#stdout.split('\n').flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []));
  }

  /** Ids of the processes that were started, in order, of one place or of all. */
  pids(worker?: number): number[] {
    return this.lines
      .filter((line) => line.msg === 'worker started' && (worker === undefined || line.worker === worker))
      .map(({ pid }) => Number(pid));
  }

  /** The first line that fits, waited for. */
  line(what: string, fits: (line: Line) => boolean): Promise<Line> {
    return until(`a line says: ${what}`, () => this.lines.find(fits), { timeoutMs: READY_TIMEOUT_MS }).catch((error: unknown) => {
      throw new Error(`${String(error)}\n${this.#stdout}${this.stderr}`);
    });
  }

  /** To the supervisor alone. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends the signal and waits for the end. */
  async stop(signal: NodeJS.Signals): Promise<Exit> {
    this.signal(signal);
    await until('the supervisor has ended', () => this.#child.exitCode !== null || this.#child.signalCode !== null, {
      timeoutMs: END_TIMEOUT_MS,
    });
    return this.exited;
  }

  /** To one worker that this supervisor started. */
  signalWorker(pid: number, signal: NodeJS.Signals): void {
    if (!this.pids().includes(pid) || !isRunning(pid)) throw new Error(`${pid} is no running worker of this test`);
    process.kill(pid, signal);
  }

  get running(): number[] {
    return this.pids().filter(isRunning);
  }

  async #clean(): Promise<void> {
    await this.stop('SIGKILL');
    for (const pid of this.running) {
      process.kill(pid, 'SIGKILL');
      await until('the worker is gone', () => !isRunning(pid));
    }
  }
}

/** Whether it is there and not merely unburied; an id that another program has by now is not. */
function isRunning(pid: number): boolean {
  try {
    const state = /\) (\w)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1];
    return state !== 'Z' && /worker-child|main\.js/.test(readFileSync(`/proc/${pid}/cmdline`, 'utf8'));
  } catch {
    return false;
  }
}
