/**
 * A supervisor in a process of its own, and the workers it says it started. Only these are ever signalled, by their ids, and none is left
 * when the test is over.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { until } from './e2e/until.ts';
import { isRunning, type Process, processOf } from './process-tree.ts';

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
  /** By process id, as it was when the line said that it was started: ids go to others soon, also to other tests' workers. */
  readonly #workers = new Map<number, Process>();
  #stdout = '';
  stderr = '';

  constructor(args: readonly string[], settings: Readonly<Record<string, string>>) {
    const { PATH = '', HOME = '' } = process.env;
    this.#child = spawn(process.execPath, args, { env: { PATH, HOME, ...settings } });
    this.#child.stdout!.on('data', (text) => {
      this.#stdout += text;
      this.#meet();
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

  /** Of the supervisor. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  /** Ids of the processes that were started, in order, of one place or of all. */
  pids(worker?: number): number[] {
    return this.lines
      .filter((line) => line.msg === 'worker started' && (worker === undefined || line.worker === worker))
      .map(({ pid }) => Number(pid));
  }

  /** The first line that fits, waited for. */
  line(what: string, fits: (line: Line) => boolean): Promise<Line> {
    return this.explained(until(`a line says: ${what}`, () => this.lines.find(fits), { timeoutMs: READY_TIMEOUT_MS }));
  }

  /** What was waited for; where that was in vain, with all that the processes have said. */
  explained<Result>(waited: Promise<Result>): Promise<Result> {
    return waited.catch((error: unknown) => {
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
    if (!this.running.includes(pid)) throw new Error(`${pid} is no running worker of this test`);
    process.kill(pid, signal);
  }

  get running(): number[] {
    return [...this.#workers.values()].filter(isRunning).map(({ pid }) => pid);
  }

  #meet(): void {
    for (const pid of this.pids()) {
      const worker = this.#workers.has(pid) ? null : processOf(pid);
      if (worker !== null) this.#workers.set(pid, worker);
    }
  }

  async #clean(): Promise<void> {
    await this.stop('SIGKILL');
    for (const pid of this.running) {
      process.kill(pid, 'SIGKILL');
      await until('the worker is gone', () => !this.running.includes(pid));
    }
  }
}
