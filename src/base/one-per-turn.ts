/** Heavy work, one piece in each turn of the event loop: what is small and comes meanwhile passes in between. */
import type { Clock } from './clock.ts';

export class OnePerTurn {
  readonly #clock: Pick<Clock, 'soon'>;
  readonly #waiting: (() => void)[] = [];

  constructor(clock: Pick<Clock, 'soon'>) {
    this.#clock = clock;
  }

  /** Resolves in a later turn, which no other caller shares, in the order of the calls. */
  wait(): Promise<void> {
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
