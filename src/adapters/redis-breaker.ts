/**
 * Bounds what a Redis that does not answer costs: a caller waits 250 ms at most, and after one has waited in vain the next are turned away at
 * once, until a single one has tried again. It knows nothing of Redis: a call is a function.
 */
import type { Clock } from '../base/clock.ts';

const ANSWER_MS_MAX = 250;
const ASK_AGAIN_AFTER_MS = 500;
/** Calls under way at once, each gone after `ANSWER_MS_MAX`: as many as when a worker takes over the rooms of another. */
const CALLS_MAX = 10_000;

class NoAnswer extends Error {}

export class RedisBreaker {
  readonly #clock: Clock;
  #calls = 0;
  /** Null while Redis answers. */
  #askAgainAtMs: number | null = null;
  #isAsking = false;

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  /** The result of `call`. @throws what it throws, or an Error when there was no answer in time, or none is to be expected. */
  async run<Result>(call: () => Promise<Result>): Promise<Result> {
    const isProbe = this.#askAgainAtMs !== null;
    if (isProbe && (this.#isAsking || this.#clock.monotonicMs() < this.#askAgainAtMs!)) {
      throw new Error('Redis did not answer a moment ago');
    }
    if (this.#calls >= CALLS_MAX) throw new Error('Redis is slow: too many calls wait for it');
    this.#calls += 1;
    if (isProbe) this.#isAsking = true;
    try {
      const result = await this.#inTime(call);
      this.#askAgainAtMs = null;
      return result;
    } catch (error) {
      // An error is an answer, or comes without a wait: nobody needs to be kept from it.
      this.#askAgainAtMs = error instanceof NoAnswer ? this.#clock.monotonicMs() + ASK_AGAIN_AFTER_MS : null;
      throw error;
    } finally {
      this.#calls -= 1;
      if (isProbe) this.#isAsking = false;
    }
  }

  #inTime<Result>(call: () => Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      const noAnswer = (): void => reject(new NoAnswer(`Redis did not answer within ${ANSWER_MS_MAX} ms`));
      // One more look at the socket: when this worker was busy all the while, the answer is there but has not been read.
      const stop = this.#clock.after(ANSWER_MS_MAX, () => this.#clock.soon(noAnswer));
      call().then(resolve, reject).finally(stop);
    });
  }
}
