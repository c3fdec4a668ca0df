/** How long a batch of what nobody waits for is gathered: for so long from its first item on. */
import type { Clock } from '../../base/clock.ts';
import type { Delay } from './gathered.ts';

interface GatherTimeDeps {
  readonly clock: Clock;
  readonly ms: number;
  /** Called when the time is over. */
  readonly begin: () => void;
}

export class GatherTime implements Delay {
  readonly #deps: GatherTimeDeps;
  #cancel: (() => void) | null = null;

  constructor(deps: GatherTimeDeps) {
    this.#deps = deps;
  }

  get isOn(): boolean {
    return this.#cancel !== null;
  }

  came(): void {
    this.#cancel ??= this.#deps.clock.after(this.#deps.ms, () => {
      this.#cancel = null;
      this.#deps.begin();
    });
  }

  answered(): void {
    // Who came meanwhile has waited since then.
  }

  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
  }
}
