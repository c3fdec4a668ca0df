/** Metrics as Prometheus reads them: those of the table in `base/metrics.ts`, and what the process says of itself (CPU, memory, event loop, GC). */
import { getHeapStatistics } from 'node:v8';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import {
  COUNTERS,
  type CounterName,
  GAUGES,
  type GaugeName,
  HISTOGRAMS,
  type HistogramName,
  type Metrics,
} from '../base/metrics.ts';

export interface Prometheus extends Metrics {
  readonly contentType: string;
  /** The text format, with the values of this moment. */
  text(): Promise<string>;
}

/** The library's 10 ms wake an idle process a hundred times a second. The lag it shows includes this. */
const LAG_READ_EVERY_MS = 50;

/** One for a process: what it watches of the process it watches until the end. */
export function makePrometheus(): Prometheus {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_READ_EVERY_MS });
  const counters = mapOf(COUNTERS, (name, { help, label, ...more }) => {
    const totals = new Map<string, number>(('values' in more ? more.values : []).map((value) => [value, 0]));
    const collect = function (this: Counter): void {
      this.reset();
      for (const [value, total] of totals) this.inc({ [label]: value }, total);
    };
    new Counter({ name, help, labelNames: [label], registers, collect });
    return (value: string, by: number): void => void totals.set(value, (totals.get(value) ?? 0) + by);
  });
  const histograms = mapOf(
    HISTOGRAMS,
    (name, { help, buckets }) => new Histogram({ name, help, buckets: [...buckets], registers }),
  );
  const reads = new Map<GaugeName, () => number>([['atrium_heap_limit_bytes', () => getHeapStatistics().heap_size_limit]]);
  for (const name of Object.keys(GAUGES) as GaugeName[]) {
    const collect = function (this: Gauge): void {
      this.set(reads.get(name)?.() ?? 0);
    };
    new Gauge({ name, help: GAUGES[name], registers, collect });
  }
  return {
    contentType: registry.contentType,
    text: () => registry.metrics(),
    count: (name: CounterName, value, by = 1) => counters.get(name)?.(value, by),
    observe: (name: HistogramName, value) => histograms.get(name)?.observe(value),
    gauge: (name, read) => void reads.set(name, read),
  };
}

function mapOf<Name extends string, Spec, Made>(
  table: Readonly<Record<Name, Spec>>,
  make: (name: Name, spec: Spec) => Made,
): Map<Name, Made> {
  return new Map((Object.entries(table) as [Name, Spec][]).map(([name, spec]) => [name, make(name, spec)]));
}
