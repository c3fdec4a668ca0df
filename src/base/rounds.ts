/**
 * Looks at each entry of a map in rounds of so long, a slice at a time: thousands at once would hold up everybody for as long as that takes. From one look to the
 * next two rounds may pass.
 */
import type { Clock } from './clock.ts';

const SLICES_MAX = 20;
/** So few are one slice: each wakes the process. */
const FEW = 50;

export interface RoundsDeps<Key, Value> {
  readonly clock: Clock;
  readonly entries: ReadonlyMap<Key, Value>;
  /** How long one round takes. */
  readonly everyMs: number;
  /** It may delete entries. It must not throw. */
  readonly visit: (key: Key, value: Value) => void;
  /** Before the first entry of a round. It must not throw. */
  readonly begin?: () => void;
}

export class Rounds<Key, Value> {
  readonly #deps: RoundsDeps<Key, Value>;
  #left: Iterator<[Key, Value]>;
  #slices = 1;
  #slicesLeft = 0;
  #perSlice = 0;
  #cancel: () => void;

  /** The first round begins when one would have ended. */
  constructor(deps: RoundsDeps<Key, Value>) {
    this.#deps = deps;
    this.#left = deps.entries.entries();
    this.#cancel = this.#visitLater();
  }

  stop(): void {
    this.#cancel();
  }

  #visitLater(): () => void {
    const { clock, everyMs } = this.#deps;
    return clock.after(everyMs / this.#slices, () => {
      if (this.#slicesLeft === 0) this.#begin();
      this.#cancel = this.#visitLater(); // first, because who is visited may stop it all
      this.#slicesLeft -= 1;
      this.#visitSlice();
    });
  }

  #begin(): void {
    const { entries, begin } = this.#deps;
    begin?.();
    this.#left = entries.entries();
    this.#slices = Math.min(SLICES_MAX, Math.max(1, Math.ceil(entries.size / FEW)));
    this.#slicesLeft = this.#slices;
    this.#perSlice = Math.ceil(entries.size / this.#slices);
  }

  /** The last slice has all that is left, also what came during the round. */
  #visitSlice(): void {
    const most = this.#slicesLeft === 0 ? Number.POSITIVE_INFINITY : this.#perSlice;
    for (let count = 0; count < most; count += 1) {
      const next = this.#left.next();
      if (next.done === true) return;
      this.#deps.visit(...next.value);
    }
  }
}
