/**
 * Goes over what is due, one pass at a time: whenever somebody says that something may be, and at regular times for what nobody tells of. Who says so during a
 * pass is heard after it.
 */
import { type Clock, pause } from './clock.ts';

export interface PassesDeps {
  readonly clock: Clock;
  /** The backstop for what nobody told of. */
  readonly everyMs: number;
  /** What is told of during a pass and so long after it goes together. */
  readonly betweenMs: number;
  /** It must not reject. */
  readonly pass: () => Promise<void>;
}

export class Passes {
  readonly #deps: PassesDeps;
  #stopTimer: () => void = () => undefined;
  #running: Promise<void> | null = null;
  /** Counts nudges, so that one that comes during a pass is not lost. */
  #nudges = 0;
  #isClosed = false;

  constructor(deps: PassesDeps) {
    this.#deps = deps;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  start(): void {
    this.#stopTimer = this.#deps.clock.every(this.#deps.everyMs, () => this.nudge());
    this.nudge();
  }

  /** Something may be due: goes over it at once, or after the pass under way. */
  nudge(): void {
    this.#nudges += 1;
    if (!this.#isClosed) this.#running ??= this.#run();
  }

  /** Something will be due once this pass is over; without one, whoever makes it due nudges. */
  again(): void {
    if (this.#running !== null) this.#nudges += 1;
  }

  /** Resolves when nothing is gone over at the moment. */
  async idle(): Promise<void> {
    await this.#running;
  }

  /** Resolves when the pass under way is over; it is the last one. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.idle();
  }

  async #run(): Promise<void> {
    const { clock, betweenMs, pass } = this.#deps;
    for (let seen = -1; seen !== this.#nudges && !this.#isClosed; ) {
      if (seen >= 0 && betweenMs > 0) await pause(clock, betweenMs);
      seen = this.#nudges;
      await pass();
    }
    this.#running = null; // in the turn of the last look at the nudges, so none falls between
  }
}
