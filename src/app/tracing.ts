/** Where spans go: to the collector of OTEL_EXPORTER_OTLP_ENDPOINT, or nowhere. Only those who have one load OpenTelemetry. */
import { systemClock } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import { noTracer, type Tracer } from '../base/trace.ts';
import type { Settings } from '../config.ts';

export interface Tracing {
  readonly tracer: Tracer;
  /** Sends what waits. Never rejects. */
  close(): Promise<void>;
}

export async function openTracing(
  { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, TRACED_PERCENT: percent }: Settings,
  { log, workerName }: { readonly log: Log; readonly workerName: string },
): Promise<Tracing> {
  if (endpoint === undefined) return { tracer: noTracer, close: async () => undefined };
  const { openOtlpTracer } = await import('../adapters/otlp-tracer.ts');
  const tracer = openOtlpTracer({ endpoint, percent, workerName, clock: systemClock, log });
  return { tracer, close: () => tracer.close() };
}
