/**
 * The built server in embedded mode as a process to be killed, with its Postgres. Only what was started here is ever signalled: the server, and
 * the processes that descend from it, by their ids.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';
import { descendantsOf, isRunning, type Process } from '../support/process-tree.ts';

const REPOSITORY = fileURLToPath(new URL('../..', import.meta.url));
const READY_TIMEOUT_MS = 60_000;
const GONE_TIMEOUT_MS = 20_000;

/** `server`: its own process group, as a crash; its Postgres is left to the keeper. `everything`: its Postgres too, in the same moment. */
export type KillMode = 'server' | 'everything';

export class KilledServer {
  readonly url: string;
  readonly #settings: Readonly<Record<string, string>>;
  #child: ChildProcess | null = null;
  /** All processes of earlier incarnations, to be asked whether they are gone. */
  readonly #killed: Process[] = [];
  /** Lines that the server logged as errors or worse, and what it printed when it ended by itself. */
  readonly complaints: string[] = [];

  private constructor(settings: Readonly<Record<string, string>>) {
    this.#settings = settings;
    this.url = `http://127.0.0.1:${settings.PORT}`;
    process.once('exit', () => this.#killNow('everything'));
  }

  /** A server with a data directory and a port of its own, not yet started. */
  static async prepare(settings: Readonly<Record<string, string>>): Promise<KilledServer> {
    const dataDir = await mkdtemp(join(tmpdir(), 'atrium-kill-'));
    await chmod(dataDir, 0o711); // Postgres may run as another user
    return new KilledServer({
      ...settings,
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
      DATA_DIR: dataDir,
      LOG_LEVEL: 'warn',
    });
  }

  get dataDir(): string {
    return this.#settings.DATA_DIR!;
  }

  /** Starts the process, without waiting for it. */
  spawn(): void {
    const { PATH = '', HOME = '' } = process.env; // settings of the machine that runs the tests must not leak in
    const child = spawn(process.execPath, ['dist/main.js'], {
      cwd: REPOSITORY,
      env: { PATH, HOME, ...this.#settings },
      detached: true, // a process group of its own
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    this.#child = child;
    let rest = '';
    child.stderr!.on('data', (text) => {
      const lines = (rest + String(text)).split('\n');
      rest = lines.pop()!;
      this.complaints.push(...lines.filter((line) => !line.startsWith('{') || /"level":(50|60|"error"|"fatal")/.test(line)));
    });
    child.once('exit', (code) => {
      if (code !== null && code !== 0) this.complaints.push(`ended by itself with ${code}`);
    });
  }

  /** Starts it and waits until rooms can be served; resolves with how long that took. */
  async start(): Promise<number> {
    const startedMs = performance.now();
    this.spawn();
    const child = this.#child!;
    await until(
      'the server is healthy',
      async () => {
        if (child.exitCode !== null) return true;
        return (await fetch(`${this.url}/health`)).status === 200;
      },
      { timeoutMs: READY_TIMEOUT_MS },
    );
    if (child.exitCode !== null)
      throw new Error(`the server ended with ${child.exitCode}: ${this.complaints.slice(-5).join('\n')}`);
    return performance.now() - startedMs;
  }

  /** kill -9, and waits until the process itself is gone; its Postgres may take longer. */
  async kill(mode: KillMode): Promise<void> {
    const child = this.#child!;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode !== null || child.signalCode !== null) return;
    this.#killNow(mode);
    await gone;
  }

  /** Which processes of killed servers are still there, once those that are ending have had their time. */
  async lingering(): Promise<number[]> {
    const running = (): number[] => this.#killed.filter(isRunning).map(({ pid }) => pid);
    await until('all are gone', () => running().length === 0, { timeoutMs: GONE_TIMEOUT_MS }).catch(() => undefined);
    return running();
  }

  /** Ends everything, frees the port, deletes the data. Never leaves a process behind, whatever state it finds. */
  async dispose(): Promise<void> {
    if (this.#child !== null) await this.kill('everything');
    const left = await this.lingering();
    if (left.length > 0) throw new Error(`still running: ${left.join(', ')}`);
    await rm(this.dataDir, { recursive: true, force: true });
  }

  #killNow(mode: KillMode): void {
    const child = this.#child;
    if (child?.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const family = descendantsOf(child.pid);
    this.#killed.push(...family);
    process.kill(-child.pid, 'SIGKILL'); // its id cannot be another's: it is ours, and not reaped yet
    if (mode === 'everything') for (const { pid } of family) kill(pid);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error; // gone already
  }
}
