/** Whether Redis is there, for the log and for callers: errors that say why, however many calls and tries to connect there are. */
import { Away } from '../base/away.ts';
import type { Clock } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';

export class RedisHealth {
  readonly #away: Away;
  /** Why the last try to connect failed; says more than the errors of the calls that found no connection. */
  #connectionError: Error | null = null;

  constructor(world: { clock: Clock; log: Log }) {
    this.#away = new Away({ ...world, away: 'Redis is away; it holds hints only, rooms go on without', back: 'Redis is back' });
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
    this.#away.answered();
  }

  /** Returns the error for the caller. */
  failed(error: unknown): Error {
    const cause = this.#connectionError ?? error;
    this.#away.failed(cause);
    return new Error('the directory is away', { cause });
  }
}
