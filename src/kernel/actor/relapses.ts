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
  /** The last of them, on the monotonic clock. */
  readonly failedAtMs: number;
}

export class Relapses {
  readonly #clock: Pick<Clock, 'monotonicMs'>;
  /** Who failed last is last. Forgotten with the next failure of any: no more than failed within ten seconds, each of which had to be loaded for that. */
  readonly #failing = new PassingMap<string, Failing>();

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#clock = clock;
  }

  failed(key: string): void {
    const failedAtMs = this.#clock.monotonicMs();
    this.#forget(failedAtMs - FORGOTTEN_AFTER_MS);
    const times = (this.#failing.get(key)?.times ?? 0) + 1;
    this.#failing.delete(key);
    this.#failing.set(key, { times, failedAtMs });
  }

  /** For how long it rests from now on, in ms. */
  restMs(key: string): number {
    const failing = this.#failing.get(key);
    return failing === undefined ? 0 : Math.max(0, failing.failedAtMs + restMs(failing) - this.#clock.monotonicMs());
  }

  #forget(untilMs: number): void {
    for (let first = this.#failing.first(); first !== undefined; first = this.#failing.first()) {
      const [key, { failedAtMs }] = first;
      if (failedAtMs > untilMs) return;
      this.#failing.delete(key);
    }
  }
}

function restMs({ times }: Failing): number {
  return times === 1 ? 0 : Math.min(REST_MS_MAX, REST_FIRST_MS * 2 ** Math.min(times - 2, 10));
}
