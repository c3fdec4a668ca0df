/**
 * Says to all workers that others want to hear of something else in rooms, so that each asks at once what that is. A worker that is not reached, or cannot ask,
 * does so by itself a little later: for such a one there is nothing but to wait. One without a lease asks when it has one again.
 */
import { type Clock, doneWithin } from '../base/clock.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Bus, Message } from '../kernel/cluster/bus.ts';
import type { Looking } from './room-watch.ts';

export interface WatchCallsDeps {
  readonly bus: Pick<Bus, 'ask'>;
  readonly clock: Clock;
  readonly log: Log;
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

  /** True says that it has looked; a worker that does not know the message answers it with null. @throws AppError DATABASE_UNAVAILABLE */
  async handle(): Promise<true> {
    await this.#deps.watcher?.look();
    return true;
  }

  /** Resolves when all have looked, this one among them, or after `byThemselvesMs`, in which each looks as a rule whether it was called or not. Never rejects. */
  call(byThemselvesMs: number): Promise<void> {
    const allLooked = new Promise<void>((resolve) => {
      void this.#all(byThemselvesMs).then((haveLooked) => {
        if (haveLooked) resolve();
      });
    });
    return doneWithin(this.#deps.clock, byThemselvesMs, allLooked);
  }

  /** What was said while this worker had no lease. Never rejects. */
  async lookAgain(): Promise<void> {
    await this.handle().catch((error: unknown) => this.#deps.log.warn({ err: error }, 'what is watched was not looked for'));
  }

  async #all(deadlineMs: number): Promise<boolean> {
    try {
      return (await Promise.all([this.handle(), this.#others(deadlineMs)])).every(Boolean);
    } catch (error) {
      this.#deps.log.warn({ err: error }, 'what is watched was not looked for by all');
      return false;
    }
  }

  async #others(deadlineMs: number): Promise<boolean> {
    const { bus, findOthers } = this.#deps;
    const asked = (await findOthers()).map((at) => bus.ask(at, { kind: KIND, payload: null }, { deadlineMs }));
    return (await Promise.all(asked)).every((answer) => answer === true);
  }
}
