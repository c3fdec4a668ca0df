/** What every worker does now and then with rows that are due; two that meet take different ones. It does not know what is due, nor what is done. */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/observe.ts';

interface SweepDeps {
  readonly clock: Clock;
  readonly log: Log;
}

interface SweepWork {
  /** What is said when it fails. */
  readonly phrase: string;
  readonly everyMs: number;
  /** Does some of what is due; resolves with whether more may be. */
  readonly some: () => Promise<boolean>;
}

export class Sweep {
  readonly #log: Log;
  readonly #work: SweepWork;
  readonly #stopTimer: () => void;
  #pass: Promise<void> | null = null;
  #isClosed = false;

  constructor({ clock, log }: SweepDeps, work: SweepWork) {
    this.#log = log;
    this.#work = work;
    this.#stopTimer = clock.every(work.everyMs, () => void this.run());
  }

  /** Does all that is due, or as much as goes well. One pass at a time; never rejects. */
  run(): Promise<void> {
    this.#pass ??= this.#sweep()
      .catch((error: unknown) => this.#log.warn({ err: error }, this.#work.phrase))
      .finally(() => {
        this.#pass = null;
      });
    return this.#pass;
  }

  /** Resolves when what is under way is done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.#pass;
  }

  async #sweep(): Promise<void> {
    while (!this.#isClosed && (await this.#work.some()));
  }
}
