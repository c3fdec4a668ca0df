/**
 * Says to all workers that others want to hear of something else in rooms, so that each asks at once what that is. A worker that is not reached asks by itself,
 * a little later: for such a one there is nothing but to wait.
 */
import type { Clock } from '../base/clock.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Bus, Message } from '../kernel/cluster/bus.ts';
import type { Looking } from './room-watch.ts';

export interface WatchCallsDeps {
  readonly bus: Pick<Bus, 'ask'>;
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** All others that may own rooms. @throws AppError DATABASE_UNAVAILABLE */
  readonly findOthers: () => Promise<readonly WorkerAddress[]>;
  /** What hears of rooms here; nothing when absent. */
  readonly watcher: Looking | undefined;
}

const KIND = 'watch.look';

export class WatchCalls {
  readonly #deps: WatchCallsDeps;

  constructor(deps: WatchCallsDeps) {
    this.#deps = deps;
  }

  /** Whether a message of the bus is for `handle`. */
  isFor({ kind }: Message): boolean {
    return kind === KIND;
  }

  /** @throws AppError DATABASE_UNAVAILABLE */
  async handle(): Promise<null> {
    await this.#deps.watcher?.look();
    return null;
  }

  /** Resolves when all others have looked, or after `byThemselvesMs`, in which each looks whether it was called or not. Never rejects. */
  async call(byThemselvesMs: number): Promise<void> {
    const { clock } = this.#deps;
    const endMs = clock.monotonicMs() + byThemselvesMs;
    if (await this.#allLooked(byThemselvesMs)) return;
    await new Promise<void>((resolve) => clock.after(Math.max(0, endMs - clock.monotonicMs()), resolve));
  }

  async #allLooked(deadlineMs: number): Promise<boolean> {
    const { bus, findOthers } = this.#deps;
    const look = { kind: KIND, payload: null };
    try {
      await Promise.all((await findOthers()).map((at) => bus.ask(at, look, { deadlineMs })));
      return true;
    } catch {
      return false;
    }
  }
}
