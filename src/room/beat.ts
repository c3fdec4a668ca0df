/**
 * One timer for all rooms of a worker that have something to do which nobody waits for: what they do then meets in one turn, so that what they write
 * shares a commit.
 */
import type { Clock } from '../base/clock.ts';

/** How long a Yjs update that nobody waits for may stay out of the journal; those who see it at once hold it, too. */
const EVERY_MS = 100;

export class Beat {
  readonly #clock: Clock;
  #tasks: (() => void)[] = [];

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `task` with all others that were handed in since the last beat. It must not throw. */
  next(task: () => void): void {
    this.#tasks.push(task);
    if (this.#tasks.length === 1) this.#clock.after(EVERY_MS, () => this.#run());
  }

  #run(): void {
    for (const task of this.#tasks.splice(0)) task();
  }
}
