/**
 * Work on whole rooms that is less urgent than a keystroke, such as encoding a snapshot or falling asleep: some of it, then a rest. Rooms that were quiet
 * together have the same to do in one moment, and done in one turn of the event loop they would hold up everybody for as long as they are many.
 */
import type { Clock } from './clock.ts';

/** One turn so far. */
export interface BackgroundTurn {
  /** Tasks that ran. */
  readonly done: number;
  /** Tasks that wait. */
  readonly left: number;
  /** What ran took so long; what a task goes on with after it returned is not in it. */
  readonly workedMs: number;
}

/** How many milliseconds to rest after a turn; 0 where it is to go on, if anything is left. */
export type Pace = (turn: BackgroundTurn) => number;

const REST_MS_MIN = 1;
/** After so long whoever is next has to wait; one task may take longer by itself. */
const SLICE_MS = 0.25;

/** A twentieth of the worker's time at most. */
export const twentieth: Pace = restsFor(19);
/** Half of it at most: for what somebody waits for, but not as others wait for their next keystroke. */
export const half: Pace = restsFor(1);

/** It rests so many times as long as it worked. */
function restsFor(times: number): Pace {
  return ({ left, workedMs }) => (left > 0 && workedMs < SLICE_MS ? 0 : Math.max(REST_MS_MIN, workedMs * times));
}

export class Background {
  readonly #clock: Clock;
  readonly #pace: Pace;
  #waiting: (() => void)[] = [];
  #isResting = false;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock, pace: Pace) {
    this.#clock = clock;
    this.#pace = pace;
  }

  /**
   * Runs `task` at once where nothing else was done lately, else in its turn. It must not throw; if it does, the next has its turn all the same. Whoever brings
   * it bounds how many wait.
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
    let [restMs, workedMs] = [0, 0];
    try {
      let done = 0;
      do {
        this.#waiting.shift()!();
        done += 1;
        workedMs = this.#clock.monotonicMs() - startedMs;
        restMs = this.#pace({ done, left: this.#waiting.length, workedMs });
      } while (restMs === 0 && this.#waiting.length > 0);
    } finally {
      this.#restFor(workedMs + Math.max(REST_MS_MIN, restMs)); // timers count from when the turn of the event loop began
    }
  }

  #restFor(ms: number): void {
    this.#cancel = this.#clock.after(ms, () => {
      this.#isResting = false;
      if (this.#waiting.length > 0) this.#work();
    });
  }
}
