/**
 * Work on whole rooms that nobody waits for, such as encoding a snapshot: one room after the other, a twentieth of the worker's time at most. Rooms that were
 * quiet together are due together, and done in one turn of the loop they would hold up everybody for as long as they are many.
 */
import type { Clock } from '../base/clock.ts';

/** After so much, whoever is next has to wait; one task may take longer by itself. */
const SLICE_MS = 1;
/** It rests so many times as long as it worked. */
const RESTS = 19;
const REST_MS_MIN = 1;

export class Background {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  #isResting = false;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Runs `task` at once where nothing else was done lately, else in its turn. What counts is the time until it returns. It must not throw; if it does, the
   * next has its turn all the same. Whoever brings it bounds how many wait.
   */
  next(task: () => void): void {
    this.#waiting.push(task);
    if (!this.#isResting) this.#work();
  }

  /** What waits is forgotten. */
  stop(): void {
    this.#waiting = [];
    this.#cancel();
  }

  #work(): void {
    this.#isResting = true; // also for what a task brings
    const startedMs = this.#clock.monotonicMs();
    let workedMs = 0;
    try {
      do {
        this.#waiting.shift()?.();
        workedMs = this.#clock.monotonicMs() - startedMs;
      } while (this.#waiting.length > 0 && workedMs < SLICE_MS);
    } finally {
      this.#rest(workedMs);
    }
  }

  #rest(workedMs: number): void {
    this.#cancel = this.#clock.after(Math.max(REST_MS_MIN, workedMs * RESTS), () => {
      this.#isResting = false;
      if (this.#waiting.length > 0) this.#work();
    });
  }
}
