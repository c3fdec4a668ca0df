/**
 * Work that is long, in steps: half a millisecond of it in each turn of the event loop, of all who have some together, so that nobody else waits for longer; and
 * half of the time where the turns are long. It takes no rest as `Background` does, because somebody waits for it.
 */
import type { Clock } from './clock.ts';

/** One step may take longer by itself. */
const SLICE_MS = 0.5;

export class Slices {
  readonly #clock: Pick<Clock, 'soon' | 'monotonicMs'>;
  /** Oldest first. */
  readonly #waiting: (() => void)[] = [];
  /** Of this turn; null before its first step. */
  #endsAtMs: number | null = null;
  /** When the last turn left some waiting. */
  #leftAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Pick<Clock, 'soon' | 'monotonicMs'>) {
    this.#clock = clock;
  }

  /** Runs `step` at once where this turn has time for it, else behind those that wait. It must not throw. Whoever brings it brings one at a time. */
  next(step: () => void): void {
    if (this.#waiting.length === 0 && this.#hasTime()) step();
    else this.#waiting.push(step);
  }

  #hasTime(): boolean {
    const nowMs = this.#clock.monotonicMs();
    if (this.#endsAtMs === null) {
      this.#endsAtMs = nowMs + Math.max(SLICE_MS, nowMs - this.#leftAtMs);
      this.#clock.soon(() => this.#turn());
    }
    return nowMs < this.#endsAtMs;
  }

  #turn(): void {
    this.#endsAtMs = null;
    while (this.#waiting.length > 0 && this.#hasTime()) this.#waiting.shift()!();
    this.#leftAtMs = this.#waiting.length > 0 ? this.#clock.monotonicMs() : Number.POSITIVE_INFINITY;
  }
}
