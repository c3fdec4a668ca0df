/**
 * Actors that fail again as soon as they are back: what they fail of lasts, such as a database that refuses what one of them writes, or a message that breaks
 * it and that its client sends again. The first time one is loaded at once, then after ever longer rests: each load costs a claim and a read of all that it is.
 */
import type { Clock } from '../../base/clock.ts';
import { PassingMap } from '../../base/passing.ts';

/** Who has not failed for so long begins anew. */
const FORGOTTEN_AFTER_MS = 10_000;
const REST_FIRST_MS = 250;
const REST_MS_MAX = 2_000;

interface Failing {
  readonly times: number;
  /** On the monotonic clock: not to be loaded before. */
  readonly untilMs: number;
}

export class Relapses {
  readonly #clock: Clock;
  /** As many as failed within the last ten seconds, each of which had to be loaded for that. */
  readonly #failing = new PassingMap<string, Failing>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  failed(key: string): void {
    const times = (this.#failing.get(key)?.times ?? 0) + 1;
    const failing = { times, untilMs: this.#clock.monotonicMs() + restMs(times) };
    this.#failing.set(key, failing);
    this.#clock.after(FORGOTTEN_AFTER_MS, () => {
      if (this.#failing.get(key) === failing) this.#failing.delete(key);
    });
  }

  /** For how long it rests from now on, in ms. */
  restMs(key: string): number {
    const failing = this.#failing.get(key);
    return failing === undefined ? 0 : Math.max(0, failing.untilMs - this.#clock.monotonicMs());
  }
}

function restMs(times: number): number {
  return times === 1 ? 0 : Math.min(REST_MS_MAX, REST_FIRST_MS * 2 ** Math.min(times - 2, 10));
}
