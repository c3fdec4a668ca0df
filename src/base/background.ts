/**
 * Work that nobody waits for, such as saving rooms whole: one piece after the other, a twentieth of the process' time at most. Rooms that were quiet together
 * are due together, and done in one turn of the loop they would hold up everybody for as long as they are many.
 */
import type { Clock } from './clock.ts';

/** It rests so many times as long as it worked. */
const RESTS = 19;

export interface BackgroundDeps {
  readonly clock: Clock;
  /** Pieces that take less than this together are done without a rest between; 0: there is one after each. */
  readonly sliceMs: number;
  readonly restMsMin: number;
}

export class Background {
  readonly #deps: BackgroundDeps;
  readonly #waiting: (() => void)[] = [];
  #isResting = false;

  constructor(deps: BackgroundDeps) {
    this.#deps = deps;
  }

  /** Runs `task` at once where nothing else was done lately, else in its turn. It must not throw; whoever brings it bounds how many of its wait. */
  next(task: () => void): void {
    this.#waiting.push(task);
    if (!this.#isResting) this.#work();
  }

  #work(): void {
    this.#isResting = true; // also for what a task brings
    const { clock, sliceMs, restMsMin } = this.#deps;
    const startedMs = clock.monotonicMs();
    let workedMs = 0;
    do {
      this.#waiting.shift()?.();
      workedMs = clock.monotonicMs() - startedMs;
    } while (this.#waiting.length > 0 && workedMs < sliceMs);
    clock.after(Math.max(restMsMin, workedMs * RESTS), () => {
      this.#isResting = false;
      if (this.#waiting.length > 0) this.#work();
    });
  }
}
