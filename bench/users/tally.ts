/** What a run of load has seen so far: counts, and times in histograms of Node's own, so that hours cost no more memory than minutes. */
import { createHistogram, type RecordableHistogram } from 'node:perf_hooks';

/** Own: from sending to the acknowledgement. Others: to the arrival at another client. */
export type Whose = 'own' | 'others';

const US_PER_MS = 1_000;
/** Three digits are kept of every time up to this. */
const US_MAX = 60_000_000;

export class Times {
  readonly #histogram: RecordableHistogram = createHistogram({ lowest: 1, highest: US_MAX, figures: 3 });

  add(ms: number): void {
    this.#histogram.record(Math.min(US_MAX, Math.max(1, Math.round(ms * US_PER_MS))));
  }

  get count(): number {
    return this.#histogram.count;
  }

  /** @param percent 0 to 100. 0 when nothing was added. */
  ms(percent: number): number {
    if (this.count === 0) return 0;
    return percent >= 100 ? this.#histogram.max / US_PER_MS : this.#histogram.percentile(Math.max(percent, 0.001)) / US_PER_MS;
  }

  clear(): void {
    this.#histogram.reset();
  }
}

export class Tally {
  /** Since the measuring began. */
  readonly own = new Times();
  readonly others = new Times();
  /** Since the last line was shown. */
  readonly recent = new Times();
  /** What `recent` and the limits are about. */
  readonly #judged: Whose;
  sent = 0;
  arrived = 0;

  constructor(judged: Whose) {
    this.#judged = judged;
  }

  get judged(): Times {
    return this.#judged === 'own' ? this.own : this.others;
  }

  add(whose: Whose, ms: number): void {
    this.arrived += 1;
    (whose === 'own' ? this.own : this.others).add(ms);
    if (whose === this.#judged) this.recent.add(ms);
  }
}
