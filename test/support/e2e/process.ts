/** The built server as a process of its own: for what only a process has, such as its output, signals and exit code. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { until } from './until.ts';

const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));
const START_TIMEOUT_MS = 20_000;
const STOP_TIMEOUT_MS = 30_000;

/** `npm run build`; call once before the first process. */
export async function build(): Promise<void> {
  await promisify(execFile)('npm', ['run', '--silent', 'build'], { cwd: REPOSITORY });
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Starts one that ends with the test at the latest. */
export function aServerProcess(settings: Readonly<Record<string, string>>): ServerProcess {
  const server = new ServerProcess(settings);
  onTestFinished(() => server.stop('SIGKILL').then(() => undefined));
  return server;
}

/** Whoever makes one ends it. */
export class ServerProcess {
  readonly exited: Promise<Exit>;
  readonly #child: ChildProcess;
  #stdout = '';
  #stderr = '';
  #wasAskedToEnd = false;

  constructor(settings: Readonly<Record<string, string>>) {
    // Only what a bare shell has: settings of the machine that runs the tests must not leak in.
    const { PATH = '', HOME = '' } = process.env;
    this.#child = spawn(process.execPath, ['dist/main.js'], {
      cwd: REPOSITORY,
      env: { PATH, HOME, HOST: '127.0.0.1', ...settings },
    });
    this.#child.stdout!.on('data', (text) => {
      this.#stdout += text;
    });
    this.#child.stderr!.on('data', (text) => {
      this.#stderr += text;
    });
    this.exited = new Promise((resolve) => this.#child.once('close', (code, signal) => resolve({ code, signal })));
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get stdout(): string {
    return this.#stdout;
  }

  /** What it said, when it ended though nobody had asked it to; else null. */
  get lastWords(): string | null {
    const { exitCode, signalCode } = this.#child;
    const hasEnded = exitCode !== null || signalCode !== null;
    return hasEnded && !this.#wasAskedToEnd ? `ended with ${exitCode ?? signalCode}: ${this.output}` : null;
  }

  /** All it said, for people to read. */
  get output(): string {
    return this.#stdout + this.#stderr;
  }

  /** Sends the signal; nothing is waited for. */
  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends the signal and waits for the end; at once when it has ended already. */
  async stop(signal: NodeJS.Signals): Promise<Exit> {
    this.#wasAskedToEnd ||= this.lastWords === null;
    this.#child.kill(signal);
    const hasEnded = (): boolean => this.#child.exitCode !== null || this.#child.signalCode !== null;
    await until('the process has ended', hasEnded, { timeoutMs: STOP_TIMEOUT_MS });
    return this.exited;
  }

  /** Waits until rooms can be served. @throws an Error with the output when the process ends instead. */
  async ready(port: number): Promise<void> {
    const ended = this.exited.then(({ code }) => {
      throw new Error(`ended with ${code}: ${this.output}`);
    });
    const healthy = until('the server is healthy', async () => (await fetch(`http://127.0.0.1:${port}/health`)).status === 200, {
      timeoutMs: START_TIMEOUT_MS,
    });
    await Promise.race([healthy, ended]);
  }
}
