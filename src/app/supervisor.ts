/**
 * Several worker processes on one machine: started together, restarted when they die, restarted one after the other when asked, ended together.
 *
 * It serves nothing itself and holds no lease; when it dies its workers see that and drain. How processes are made comes in (`startChild`).
 */
import { type Clock, doneWithin, type Random } from '../base/clock.ts';
import type { Incarnation } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { StartChild } from '../kernel/cluster/child-worker.ts';
import { WorkerSlot } from './worker-slot.ts';

export interface SupervisorDeps {
  readonly startChild: StartChild;
  /** Settings of the worker at each index, on top of those of this process; its length is the number of workers. */
  readonly settings: readonly Readonly<Record<string, string>>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Declares a name dead, and goes on trying; never rejects. */
  readonly fence: (incarnation: Incarnation) => Promise<void>;
  /** The first worker serves. */
  readonly onServing: (url: string) => void;
}

/** How it ended: `sentence` when it would not start. */
export interface SupervisorEnd {
  readonly code: number;
  readonly sentence: string | null;
}

/** A worker that has died so often and never served will not. */
const DEATHS_IN_VAIN_MAX = 5;
const DIED_IN_VAIN = 'The workers end as soon as they start; what they wrote above says why.';
/** A restart of all waits so long for one to serve; then the others keep what they have. */
const ROLL_WAIT_MS = 60_000;
/** At the end nobody is left to take rooms over here, so fences that still try are given little more time. */
const FENCES_MS_MAX = 1_000;

export class Supervisor {
  readonly #deps: SupervisorDeps;
  readonly #slots: readonly WorkerSlot[];
  readonly #fences = new Set<Promise<void>>();
  /** Look again whenever a worker serves or the end has begun. */
  readonly #waiting = new Set<() => void>();
  readonly #finished: Promise<SupervisorEnd>;
  #finish: (end: SupervisorEnd) => void = () => undefined;
  #hasServed = false;
  #isStopping = false;
  #rolls: 'none' | 'one' | 'one more' = 'none';

  constructor(deps: SupervisorDeps) {
    this.#deps = deps;
    this.#finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
    const { startChild, clock, random, log } = deps;
    this.#slots = deps.settings.map(
      (settings, index) =>
        new WorkerSlot({
          ...{ index, settings, startChild, clock, random, log },
          fence: (incarnation) => this.#fence(incarnation),
          onServing: (url) => this.#serves(url),
          onRefused: (sentence) => this.#refused(index, sentence),
          onDied: ({ inVain }) => this.#died(inVain),
        }),
    );
  }

  /** Starts all workers. Resolves when the last has ended: after `stop`, or because they would not start. */
  run(): Promise<SupervisorEnd> {
    for (const slot of this.#slots) slot.start();
    return this.#finished;
  }

  /** Drains all workers at once. Asking again changes nothing. */
  stop(): void {
    void this.#end(null);
  }

  /** Restarts the workers one after the other; each goes only while all others serve. Asked again meanwhile, it begins once more after. */
  roll(): void {
    if (this.#rolls !== 'none') {
      this.#rolls = 'one more';
      return;
    }
    this.#rolls = 'one';
    void this.#rollAll();
  }

  async #rollAll(): Promise<void> {
    const { log } = this.#deps;
    log.info({ workers: this.#slots.length }, 'rolling restart');
    if (await this.#rollEach()) log.info({ workers: this.#slots.length }, 'rolling restart done');
    else if (!this.#isStopping) log.error({ waitedMs: ROLL_WAIT_MS }, 'rolling restart given up: a worker does not serve');
    const isWanted = this.#rolls === 'one more';
    this.#rolls = 'none';
    if (isWanted && !this.#isStopping) this.roll();
  }

  /** False when it was given up. */
  async #rollEach(): Promise<boolean> {
    for (const slot of this.#slots) {
      if (!(await this.#allServe())) return false;
      await slot.end();
      if (this.#isStopping) return false;
      slot.start();
    }
    return this.#allServe();
  }

  /** False when that takes too long, or the end has begun. */
  #allServe(): Promise<boolean> {
    return new Promise((resolve) => {
      const done = (outcome: boolean): void => {
        cancel();
        this.#waiting.delete(look);
        resolve(outcome);
      };
      const cancel = this.#deps.clock.after(ROLL_WAIT_MS, () => done(false));
      const look = (): void => {
        if (this.#isStopping) done(false);
        else if (this.#slots.every(({ isServing }) => isServing)) done(true);
      };
      this.#waiting.add(look);
      look();
    });
  }

  #look(): void {
    for (const look of [...this.#waiting]) look();
  }

  #serves(url: string): void {
    if (!this.#hasServed) this.#deps.onServing(url);
    this.#hasServed = true;
    this.#look();
  }

  /** Until each has served once, what keeps one from starting keeps all from it: it is the operator's to mend. */
  get #isStarting(): boolean {
    return !this.#slots.every(({ hasServed }) => hasServed);
  }

  #refused(index: number, sentence: string): void {
    if (this.#isStopping) return;
    if (this.#isStarting) void this.#end(sentence);
    else this.#deps.log.error({ worker: index, reason: sentence }, 'worker refuses to start');
  }

  #died(inVain: number): void {
    if (this.#isStarting && inVain >= DEATHS_IN_VAIN_MAX) void this.#end(DIED_IN_VAIN);
  }

  #fence(incarnation: Incarnation): void {
    const fence = this.#deps.fence(incarnation).finally(() => this.#fences.delete(fence));
    this.#fences.add(fence);
  }

  async #end(sentence: string | null): Promise<void> {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#look();
    const inOrder = await Promise.all(this.#slots.map((slot) => slot.end()));
    await this.#fencesDone();
    this.#finish({ code: sentence === null && inOrder.every(Boolean) ? 0 : 1, sentence });
  }

  #fencesDone(): Promise<void> {
    return doneWithin(this.#deps.clock, FENCES_MS_MAX, Promise.all(this.#fences));
  }
}
