/** The same numbers as in the metrics, kept for somebody who looks at this worker now: totals, gauges, and how long things took lately. */
import type { Clock } from './clock.ts';
import { COUNTERS, type CounterName, GAUGES, type GaugeName, HISTOGRAMS, type HistogramName, type Metrics } from './metrics.ts';

export interface RecentNumbers {
  /** Since the start, all values of the label together. */
  readonly totals: Readonly<Record<CounterName, number>>;
  readonly gauges: Readonly<Record<GaugeName, number>>;
  readonly recent: Readonly<Record<HistogramName, Spread>>;
}

export interface Spread {
  /** Since the start. */
  readonly count: number;
  /** Of the last ones, as many as are kept and not older than `RECENT_MS`; 0 when there were none. */
  readonly p50: number;
  readonly p99: number;
}

const RECENT_MS = 30_000;
const KEPT_MAX = 512;

/** Hands on all that it is told. */
export class RecentMetrics implements Metrics {
  readonly #others: Metrics;
  readonly #clock: Clock;
  readonly #totals: Record<CounterName, number> = zeros(COUNTERS);
  readonly #reads = new Map<GaugeName, () => number>();
  readonly #rings = new Map<HistogramName, Ring>();

  constructor(others: Metrics, clock: Clock) {
    this.#others = others;
    this.#clock = clock;
  }

  count(name: CounterName, value: string, by = 1): void {
    this.#others.count(name, value, by);
    this.#totals[name] += by;
  }

  observe(name: HistogramName, value: number): void {
    this.#others.observe(name, value);
    let ring = this.#rings.get(name);
    if (ring === undefined) {
      ring = new Ring();
      this.#rings.set(name, ring);
    }
    ring.add(value, this.#clock.monotonicMs());
  }

  gauge(name: GaugeName, read: () => number): void {
    this.#others.gauge(name, read);
    this.#reads.set(name, read);
  }

  read(): RecentNumbers {
    const sinceMs = this.#clock.monotonicMs() - RECENT_MS;
    const gauges = zeros(GAUGES);
    for (const [name, read] of this.#reads) gauges[name] = read();
    const recent = { ...NO_SPREADS };
    for (const [name, ring] of this.#rings) recent[name] = ring.spread(sinceMs);
    return { totals: { ...this.#totals }, gauges, recent };
  }
}

/** The last values, each with its time, in memory that does not grow. */
class Ring {
  readonly #values = new Float64Array(KEPT_MAX);
  readonly #atMs = new Float64Array(KEPT_MAX);
  #count = 0;

  add(value: number, atMs: number): void {
    const place = this.#count % KEPT_MAX;
    this.#values[place] = value;
    this.#atMs[place] = atMs;
    this.#count += 1;
  }

  spread(sinceMs: number): Spread {
    const kept = this.#values.subarray(0, Math.min(this.#count, KEPT_MAX));
    const sorted = kept.filter((_, place) => this.#atMs[place]! >= sinceMs).sort();
    return { count: this.#count, p50: quantile(sorted, 0.5), p99: quantile(sorted, 0.99) };
  }
}

function quantile(sorted: Float64Array, part: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
}

const NO_SPREADS = Object.fromEntries(
  Object.keys(HISTOGRAMS).map((name) => [name, { count: 0, p50: 0, p99: 0 }]),
) as unknown as Record<HistogramName, Spread>;

function zeros<Name extends string>(table: Readonly<Record<Name, unknown>>): Record<Name, number> {
  return Object.fromEntries(Object.keys(table).map((name) => [name, 0])) as Record<Name, number>;
}
