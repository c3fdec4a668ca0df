/**
 * Spans by OpenTelemetry, sent over OTLP/HTTP. Loaded only when there is somewhere to send them. What cannot be sent is dropped, and said once
 * a minute at most: a collector that is away costs nobody a request.
 */
import { type Context, context, type Span as OtelSpan, SpanKind, SpanStatusCode, TraceFlags, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type ReadableSpan,
  type SpanExporter,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';
import type { Tracer } from '../base/trace.ts';

export interface OtlpTracer extends Tracer {
  /** Sends what waits, for 2 s at most. Never rejects. */
  close(): Promise<void>;
}

interface OtlpOptions {
  /** Base address; spans go to /v1/traces below it. */
  readonly endpoint: string;
  /** Of a hundred requests that nobody traces yet. Who sends a `traceparent` has decided for himself. */
  readonly percent: number;
  readonly workerName: string;
  readonly clock: Clock;
  readonly log: Log;
}

const QUEUE_SPANS_MAX = 4_096;
const BATCH_SPANS_MAX = 512;
const BATCH_EVERY_MS = 2_000;
const SEND_MS_MAX = 5_000;
const CLOSE_MS_MAX = 2_000;
const SAY_EVERY_MS = 60_000;

/** One for a process: OpenTelemetry keeps the current span in a place of its own. */
export function openOtlpTracer({ endpoint, percent, workerName, clock, log }: OtlpOptions): OtlpTracer {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/$/, '')}/v1/traces`, timeoutMillis: SEND_MS_MAX });
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': 'atrium', 'service.instance.id': workerName }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(percent / 100) }),
    spanProcessors: [
      new BatchSpanProcessor(saying(exporter, { clock, log }), {
        maxQueueSize: QUEUE_SPANS_MAX,
        maxExportBatchSize: BATCH_SPANS_MAX,
        scheduledDelayMillis: BATCH_EVERY_MS,
        exportTimeoutMillis: SEND_MS_MAX,
      }),
    ],
  });
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const tracer = provider.getTracer('atrium');
  return {
    span(name, { facts = {}, parent }, work) {
      const around = parentOf(parent);
      const kind = parent === undefined ? SpanKind.INTERNAL : SpanKind.SERVER;
      const span = tracer.startSpan(name, { kind, attributes: { ...facts } }, around);
      const inside = trace.setSpan(around, span);
      return context.with(inside, () => ending(span, () => work({ note: (more) => void span.setAttributes({ ...more }) })));
    },
    async close() {
      let cancel = (): void => undefined;
      const isLate = new Promise<void>((resolve) => {
        cancel = clock.after(CLOSE_MS_MAX, resolve);
      });
      await Promise.race([provider.shutdown().catch((error: unknown) => log.debug({ err: error }, 'spans not sent')), isLate]);
      cancel();
      context.disable();
    },
  };
}

async function ending<Result>(span: OtelSpan, work: () => Promise<Result>): Promise<Result> {
  try {
    return await work();
  } catch (error) {
    span.setStatus({ code: SpanStatusCode.ERROR, message: error instanceof AppError ? error.code : 'unexpected' });
    throw error;
  } finally {
    span.end();
  }
}

const TRACEPARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;
const ZEROS = /^0+$/;

/** The span around us, or else the one of whoever asked us. */
function parentOf(traceparent: string | undefined): Context {
  const active = context.active();
  if (trace.getSpan(active) !== undefined) return active;
  const [, traceId = '', spanId = '', flags = ''] = TRACEPARENT.exec(traceparent ?? '') ?? [];
  if (traceId === '' || ZEROS.test(traceId) || ZEROS.test(spanId)) return active;
  const traceFlags = Number.parseInt(flags, 16) & TraceFlags.SAMPLED;
  return trace.setSpanContext(active, { traceId, spanId, traceFlags, isRemote: true });
}

/** An exporter whose failures are in the log, once in a while. */
function saying(exporter: SpanExporter, { clock, log }: { clock: Clock; log: Log }): SpanExporter {
  let saidAtMs = Number.NEGATIVE_INFINITY;
  return {
    export(spans: ReadableSpan[], done) {
      exporter.export(spans, (result) => {
        if (result.error !== undefined && clock.monotonicMs() - saidAtMs >= SAY_EVERY_MS) {
          saidAtMs = clock.monotonicMs();
          log.warn({ err: result.error, spans: spans.length }, 'spans not sent; they are dropped');
        }
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
  };
}
