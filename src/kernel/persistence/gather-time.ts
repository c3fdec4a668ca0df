/** How long a batch of what nobody waits for is gathered: for so long from its first item on, or until it is full. */
import type { Clock } from '../../base/clock.ts';
import type { Delay } from './gathered.ts';

interface GatherTimeDeps {
  readonly clock: Clock;
  readonly ms: number;
  readonly itemsMax: number;
  /** Called when the time is over. */
  readonly begin: () => void;
}

export class GatherTime implements Delay {
  readonly #deps: GatherTimeDeps;
  #count = 0;
  #cancel: (() => void) | null = null;

  constructor(deps: GatherTimeDeps) {
    this.#deps = deps;
  }

  get isOn(): boolean {
    return this.#cancel !== null;
  }

  came(): void {
    this.#count += 1;
    if (this.#count >= this.#deps.itemsMax) this.stop();
    else
      this.#cancel ??= this.#deps.clock.after(this.#deps.ms, () => {
        this.stop();
        this.#deps.begin();
      });
  }

  answered(): void {
    // Who came meanwhile has a time of its own.
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#count = 0;
  }
}
