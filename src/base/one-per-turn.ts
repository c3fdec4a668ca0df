/** Heavy work, one piece in each turn of the event loop: what is small and comes meanwhile passes in between. */
import type { Clock } from './clock.ts';
import { AppError } from './errors.ts';

export class OnePerTurn {
  readonly #clock: Pick<Clock, 'soon'>;
  readonly #waitingMax: number;
  readonly #waiting: (() => void)[] = [];

  constructor({ clock, waitingMax }: { clock: Pick<Clock, 'soon'>; waitingMax: number }) {
    this.#clock = clock;
    this.#waitingMax = waitingMax;
  }

  /** Resolves in a later turn, which no other caller shares, in the order of the calls. @throws AppError WORKER_OVERLOADED when too many wait */
  async wait(): Promise<void> {
    if (this.#waiting.length >= this.#waitingMax) throw new AppError('WORKER_OVERLOADED');
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) this.#clock.soon(() => this.#next());
    });
  }

  #next(): void {
    this.#waiting.shift()!();
    if (this.#waiting.length > 0) this.#clock.soon(() => this.#next());
  }
}
