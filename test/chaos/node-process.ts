/**
 * One node of the cluster: a supervisor and its workers, which are killed, stopped and drained. Only processes that it started are signalled, and
 * none outlives the run.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream, type WriteStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { until } from '../support/e2e/until.ts';
import { descendantsOf, isRunning, type Process, processOf } from '../support/process-tree.ts';
import { leash } from './leash.ts';

const DETOUR = fileURLToPath(new URL('./detour.mjs', import.meta.url));
const READY_MS_MAX = 60_000;
/** A supervisor kills its workers after 28 s. */
const END_MS_MAX = 40_000;
/** What runs servers starts one that ended by itself again after this. */
const AGAIN_MS = 1_000;
const ROLL_MS_MAX = 150_000;

export interface NodeOptions {
  readonly name: string;
  /** Where `dist` is. */
  readonly folder: string;
  /** The same for its first life, if that is of another build. */
  readonly folderBefore: string | null;
  readonly settings: Readonly<Record<string, string>>;
  readonly port: number;
  readonly adminPort: number;
  readonly workers: number;
  readonly logFile: string;
}

/** One life of the supervisor. */
interface Life {
  readonly child: ChildProcess;
  readonly ended: Promise<number | null>;
  /** Of each place, the worker that was started last. */
  readonly workers: Map<number, Process>;
  readonly letGo: () => void;
}

export interface LogLine {
  readonly level: number | string;
  readonly msg: string;
  readonly [field: string]: unknown;
}

export interface NodeEvents {
  /** A line of the log, of whichever life. */
  readonly line: (line: LogLine) => void;
  /** What is printed besides. */
  readonly text: (text: string) => void;
  /** The supervisor ended by itself. */
  readonly end: (code: number | null) => void;
}

export class NodeProcess {
  readonly name: string;
  readonly #options: NodeOptions;
  readonly #log: WriteStream;
  #life: Life | null = null;
  #lives = 0;
  /** Whether it is to run: then it is started again whenever it ends by itself. */
  #isWanted = false;
  readonly #onLine: (line: LogLine) => void;
  readonly #onText: (text: string) => void;
  readonly #onEnd: (code: number | null) => void;
  #isRolling = false;

  constructor(options: NodeOptions, on: NodeEvents) {
    this.name = options.name;
    this.#options = options;
    this.#log = createWriteStream(options.logFile, { flags: 'a' });
    this.#onLine = on.line;
    this.#onText = on.text;
    this.#onEnd = on.end;
  }

  get port(): number {
    return this.#options.port;
  }

  /** Starts the supervisor, without waiting for its workers, and again whenever it ends by itself. */
  start(): void {
    this.#isWanted = true;
    if (this.#life === null) this.#begin();
  }

  #begin(): void {
    const { PATH = '', HOME = '' } = process.env; // settings of this machine must not leak in
    const { folder, folderBefore, settings } = this.#options;
    this.#lives += 1;
    const child = spawn(process.execPath, ['--import', DETOUR, 'dist/main.js'], {
      cwd: this.#lives === 1 ? (folderBefore ?? folder) : folder,
      env: { PATH, HOME, ...settings },
      detached: true, // a process group of its own
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const ended = new Promise<number | null>((resolve) => child.once('exit', (code) => resolve(code)));
    const life: Life = { child, ended, workers: new Map(), letGo: leash('KILL', [-child.pid!]) };
    this.#life = life;
    createInterface({ input: child.stdout! }).on('line', (line) => this.#hear(life, line));
    createInterface({ input: child.stderr! }).on('line', (line) => this.#hear(life, line));
    void ended.then((code) => {
      life.letGo();
      this.#life = null;
      if (!this.#isWanted) return;
      this.#onEnd(code);
      setTimeout(() => this.#isWanted && this.start(), AGAIN_MS);
    });
  }

  /** Waits until all its workers may own rooms. */
  async ready(): Promise<void> {
    const { adminPort, workers } = this.#options;
    for (let index = 0; index < workers; index += 1) {
      const url = `http://127.0.0.1:${adminPort + index}/readyz`;
      await until(`worker ${index} of ${this.name} is ready`, async () => (await fetch(url)).status === 200, {
        timeoutMs: READY_MS_MAX,
      });
    }
  }

  /** To the worker in this place, if it runs. Says whether it did. */
  signalWorker(index: number, signal: NodeJS.Signals): boolean {
    const life = this.#life;
    const worker = life?.workers.get(index);
    if (life === null || worker === undefined || !isRunning(worker) || worker.parent !== life.child.pid) return false;
    process.kill(worker.pid, signal);
    return true;
  }

  /** To the supervisor alone. Says whether it runs. */
  signalSupervisor(signal: NodeJS.Signals): boolean {
    return this.#life?.child.kill(signal) ?? false;
  }

  /** To all its processes. */
  signalAll(signal: NodeJS.Signals): boolean {
    const pid = this.#life?.child.pid;
    if (pid === undefined) return false;
    process.kill(-pid, signal); // not reaped yet, so the number is still its own
    return true;
  }

  /** SIGHUP: the workers are restarted one after the other. Resolves when that is over. */
  async roll(): Promise<void> {
    if (!this.signalSupervisor('SIGHUP')) return;
    const life = this.#life;
    this.#isRolling = true;
    await until(`${this.name} has rolled`, () => !this.#isRolling || this.#life !== life, { timeoutMs: ROLL_MS_MAX });
  }

  /** kill -9 for all its processes in one moment. */
  async kill(): Promise<void> {
    this.#isWanted = false;
    const life = this.#life;
    if (life === null) return;
    const family = descendantsOf(life.child.pid!);
    this.signalAll('SIGKILL');
    await life.ended;
    await until(`${this.name} is gone`, () => !family.some(isRunning), { timeoutMs: END_MS_MAX });
  }

  /** SIGTERM; resolves with the exit code, or null when it had to be killed. */
  async drain(): Promise<number | null> {
    this.#isWanted = false;
    const life = this.#life;
    if (life === null) return null;
    const family = descendantsOf(life.child.pid!);
    life.child.kill('SIGTERM');
    const timer = setTimeout(() => this.#life === life && this.signalAll('SIGKILL'), END_MS_MAX);
    const code = await life.ended;
    clearTimeout(timer);
    for (const one of family) if (isRunning(one)) process.kill(one.pid, 'SIGKILL'); // a stopped worker of a killed supervisor
    return code;
  }

  close(): void {
    this.#log.end();
  }

  #hear(life: Life, text: string): void {
    this.#log.write(`${text}\n`);
    if (!text.startsWith('{')) {
      if (text.trim() !== '') this.#onText(text);
      return;
    }
    const line = JSON.parse(text) as LogLine;
    if (line.msg === 'worker started') {
      const worker = processOf(Number(line.pid));
      if (worker !== null) life.workers.set(Number(line.worker), worker);
    }
    if (/^rolling restart (done|given up)/.test(line.msg)) this.#isRolling = false;
    this.#onLine(line);
  }
}
