/**
 * Work that is long, in steps: a quarter of a millisecond of it in each turn of the event loop, of all who have some together, after all that came with the
 * turn was heard; and half of the time where turns are long one after another. It takes no rest as `Background` does, because somebody waits for it. An event
 * loop has one of these: to a second one the turns would be long for what the first one does.
 */
import type { Clock } from './clock.ts';

/** One step may take longer by itself. */
const SLICE_MS = 0.25;

export class Slices {
  readonly #clock: Pick<Clock, 'soon' | 'monotonicMs'>;
  /** Oldest first. */
  readonly #waiting: (() => void)[] = [];
  /** When the last slice left some waiting. */
  #leftAtMs = Number.POSITIVE_INFINITY;
  /** From that slice to the one before it. A turn that is long alone, as for a collection of garbage, is not made longer. */
  #gapMs = 0;

  constructor(clock: Pick<Clock, 'soon' | 'monotonicMs'>) {
    this.#clock = clock;
  }

  /**
   * Runs `step` behind those that wait, at the end of this turn at the earliest. It must not throw; if it does, the next has its turn all the same. Whoever
   * brings it brings one at a time.
   */
  next(step: () => void): void {
    this.#waiting.push(step);
    if (this.#waiting.length === 1) this.#clock.soon(() => this.#turn());
  }

  #turn(): void {
    let nowMs = this.#clock.monotonicMs();
    const gapMs = nowMs - this.#leftAtMs;
    const endsAtMs = nowMs + Math.max(SLICE_MS, Math.min(gapMs, this.#gapMs));
    this.#gapMs = gapMs;
    try {
      do {
        this.#runFirst();
        nowMs = this.#clock.monotonicMs();
      } while (this.#waiting.length > 0 && nowMs < endsAtMs);
    } finally {
      this.#leftAtMs = this.#waiting.length > 0 ? nowMs : Number.POSITIVE_INFINITY;
      if (this.#waiting.length > 0) this.#clock.soon(() => this.#turn());
    }
  }

  /** It stays until it is done: whoever brings another meanwhile finds that there is a turn. */
  #runFirst(): void {
    try {
      this.#waiting[0]!();
    } finally {
      this.#waiting.shift();
    }
  }
}
