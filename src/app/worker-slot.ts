/**
 * One place for a worker process: it starts one, starts the next when that ends, ends one that hangs, and has the dead one fenced. It knows nothing
 * of the other places; when to give up is the supervisor's decision.
 */
import { type Clock, chanceFrom, type Random } from '../base/clock.ts';
import type { Incarnation } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import {
  ALIVE_EVERY_MS,
  type ChildExit,
  type ChildWorker,
  type StartChild,
  type WorkerReport,
} from '../kernel/cluster/child-worker.ts';

export interface WorkerSlotDeps {
  readonly index: number;
  readonly settings: Readonly<Record<string, string>>;
  readonly startChild: StartChild;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The process that lived under this name is dead: that is certain. */
  readonly fence: (incarnation: Incarnation) => void;
  readonly onServing: (url: string) => void;
  readonly onRefused: (sentence: string) => void;
  /** It ended unasked; `inVain` counts those before it, and it, that ended without ever having served. */
  readonly onDied: (died: { readonly inVain: number }) => void;
}

/** A worker has 25 s to drain; one that is still there then is stuck. Kubernetes kills all after 30 s. */
const KILL_AFTER_MS = 28_000;
/**
 * So many looks, a second from each other, without a sign of life between them, and it hangs: its lease has been over for six seconds, and the system still hands it
 * connections. Looks are counted and no time is, so that a supervisor that was itself asleep, with its machine or alone, takes nobody for dead.
 */
const SILENT_LOOKS_MAX = 10;
const RESTART_FIRST_MS = 100;
const RESTART_MS_MAX = 5_000;
/** One that lived so long did not die of its start: the next is started as if it were the first. */
const LIVED_MS = 10_000;
/** Names whose leases may still be valid: a worker takes a new one only when the last has lapsed. */
const INCARNATIONS_KEPT = 4;

/** From a start to an end. */
interface Life {
  readonly startedMs: number;
  readonly ended: Promise<ChildExit>;
  readonly incarnations: Incarnation[];
  child: ChildWorker | null;
  exit: ChildExit | null;
  isServing: boolean;
  /** Looks since it was heard last; null before it was heard: until then it loads its code, and has no connections. */
  silentLooks: number | null;
}

export class WorkerSlot {
  readonly #deps: WorkerSlotDeps;
  #life: Life | null = null;
  /** Somebody else decides what follows the end of this process. */
  #isHeld = false;
  #failures = 0;
  #inVain = 0;
  #hasServed = false;
  #cancelRestart: () => void = () => undefined;

  constructor(deps: WorkerSlotDeps) {
    this.#deps = deps;
  }

  get isServing(): boolean {
    return this.#life !== null && this.#life.exit === null && this.#life.isServing;
  }

  /** Whether any process of this place ever served. */
  get hasServed(): boolean {
    return this.#hasServed;
  }

  start(): void {
    this.#cancelRestart();
    this.#isHeld = false;
    const { index, settings, startChild, clock, log } = this.#deps;
    let end: (exit: ChildExit) => void = () => undefined;
    const ended = new Promise<ChildExit>((resolve) => {
      end = resolve;
    });
    const life: Life = {
      ...{ startedMs: clock.monotonicMs(), ended, incarnations: [] },
      ...{ child: null, exit: null, isServing: false, silentLooks: null },
    };
    this.#life = life;
    const cancelLooks = clock.every(ALIVE_EVERY_MS, () => this.#look(life));
    life.child = startChild({
      index,
      settings,
      onReport: (report) => this.#heard(life, report),
      onExit: (exit) => {
        cancelLooks();
        this.#ended(life, exit);
        end(exit);
      },
    });
    log.info({ worker: index, pid: life.child.pid }, 'worker started');
  }

  /** Drains and ends the process, by force when it takes too long, and starts no other. Resolves with whether it ended in order. */
  async end(): Promise<boolean> {
    this.#isHeld = true;
    this.#failures = 0;
    this.#cancelRestart();
    const life = this.#life;
    if (life === null || life.exit !== null) return true;
    const { clock, log, index } = this.#deps;
    life.child?.stop();
    const cancel = clock.after(KILL_AFTER_MS, () => {
      log.error({ worker: index, afterMs: KILL_AFTER_MS }, 'worker killed: it did not end');
      life.child?.kill();
    });
    const { code, signal } = await life.ended;
    cancel();
    return code === 0 || (signal === 'SIGTERM' && !life.isServing); // one that had not yet come as far as to hear signals
  }

  #look(life: Life): void {
    if (life.silentLooks === null) return;
    life.silentLooks += 1;
    if (life.silentLooks !== SILENT_LOOKS_MAX) return;
    const { log, index } = this.#deps;
    log.error({ worker: index, pid: life.child?.pid, silentMs: SILENT_LOOKS_MAX * ALIVE_EVERY_MS }, 'worker killed: it hangs');
    life.child?.kill();
  }

  #heard(life: Life, report: WorkerReport): void {
    switch (report.type) {
      case 'registered':
        life.incarnations.splice(0, Math.max(0, life.incarnations.length + 1 - INCARNATIONS_KEPT));
        life.incarnations.push(report.incarnation);
        if (life.exit !== null) this.#fence(life, life.exit); // the report was still on its way
        break;
      case 'serving':
        life.isServing = true;
        this.#hasServed = true;
        this.#inVain = 0;
        this.#deps.onServing(report.url);
        break;
      case 'alive':
        life.silentLooks = 0;
        break;
      case 'refused':
        this.#deps.onRefused(report.sentence);
        break;
      default:
        report satisfies never;
    }
  }

  #ended(life: Life, exit: ChildExit): void {
    const { clock, log, index } = this.#deps;
    life.exit = exit;
    this.#fence(life, exit);
    const livedMs = clock.monotonicMs() - life.startedMs;
    const line = { worker: index, pid: life.child?.pid, ...exit, livedMs: Math.round(livedMs) };
    if (this.#isHeld) {
      log.info(line, 'worker ended');
      return;
    }
    if (!life.isServing) this.#inVain += 1;
    if (livedMs >= LIVED_MS) this.#failures = 0;
    const restartMs = this.#restartMs();
    log.warn({ ...line, restartMs: Math.round(restartMs) }, 'worker ended; it is started again');
    this.#failures += 1;
    this.#cancelRestart = clock.after(restartMs, () => this.start());
    this.#deps.onDied({ inVain: this.#inVain });
  }

  /** Full jitter over a doubling range: what made many end at once is not met by all of them at once again. */
  #restartMs(): number {
    const range = Math.min(RESTART_MS_MAX, RESTART_FIRST_MS * 2 ** this.#failures);
    return range * chanceFrom(this.#deps.random);
  }

  /** One that ended in order has given up its leases itself. */
  #fence({ incarnations }: Life, { code }: ChildExit): void {
    const names = incarnations.splice(0);
    if (code !== 0) for (const name of names) this.#deps.fence(name);
  }
}
