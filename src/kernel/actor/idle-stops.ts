/**
 * Idle actors have turns to stop: thousands may have been left in one moment, and nobody waits for them. How many stop at a time follows how many wait, so
 * that they are gone in the end, however many come.
 */
import type { Clock } from '../../base/clock.ts';

const EVERY_MS = 10;
/** Of up to so many that wait one stops in each turn, of twice as many two, and so on. */
const FOR_EACH = 2_500;

export class IdleStops {
  readonly #clock: Clock;
  #waiting: (() => void)[] = [];
  #isPausing = false;
  #cancel: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Runs `stop` at once where none was run lately, else in its turn. It must not throw. */
  next(stop: () => void): void {
    this.#waiting.push(stop);
    if (!this.#isPausing) this.#run();
  }

  /** What waits is forgotten. */
  close(): void {
    this.#waiting = [];
    this.#cancel();
  }

  #run(): void {
    this.#isPausing = true;
    this.#cancel = this.#clock.after(EVERY_MS, () => {
      this.#isPausing = false;
      if (this.#waiting.length > 0) this.#run();
    });
    for (const stop of this.#waiting.splice(0, Math.ceil(this.#waiting.length / FOR_EACH))) stop();
  }
}
