/** Whether Redis is there, for the log: one line when it goes and one when it is back, however many calls and tries to connect there are. */
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';

/** It counts as back when nothing has failed for so long: one node of several that is away, or a slow Redis, fails now and then. */
const STEADY_MS = 2_000;

export class RedisHealth {
  readonly #clock: Clock;
  readonly #log: Log;
  #isAway = false;
  #failedAtMs = 0;
  /** Why the last try to connect failed; says more than the errors of the calls that found no connection. */
  #connectionError: Error | null = null;

  constructor({ clock, log }: { clock: Clock; log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  connectionFailed(error: Error): void {
    // ioredis sums up so what it has said before of each sentinel, such as that it does not know the master.
    if (this.#connectionError !== null && error.message.startsWith('All sentinels are unreachable')) return;
    this.#connectionError = error;
  }

  connected(): void {
    this.#connectionError = null;
  }

  answered(): void {
    if (!this.#isAway || this.#clock.monotonicMs() - this.#failedAtMs < STEADY_MS) return;
    this.#isAway = false;
    this.#log.info({}, 'Redis is back');
  }

  /** Returns the error for the caller. */
  failed(error: unknown): Error {
    const cause = this.#connectionError ?? error;
    this.#failedAtMs = this.#clock.monotonicMs();
    if (!this.#isAway) this.#log.warn({ err: cause }, 'Redis is away; it holds hints only, rooms go on without');
    this.#isAway = true;
    return new Error('the directory is away', { cause });
  }
}
