/** Spans as a collector receives them, and none lost requests when there is no collector. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type OtlpTracer, openOtlpTracer } from '../../src/adapters/otlp-tracer.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/observe.ts';
import { freePort } from '../support/e2e/free-port.ts';

interface Received {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly status: { readonly code?: number; readonly message?: string };
  readonly attributes: readonly { readonly key: string; readonly value: Record<string, unknown> }[];
}

async function aCollector(): Promise<{ endpoint: string; spans: Received[]; paths: string[] }> {
  const spans: Received[] = [];
  const paths: string[] = [];
  const server = createServer(async (request, response) => {
    paths.push(request.url!);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString());
    for (const { scopeSpans } of body.resourceSpans) for (const scope of scopeSpans) spans.push(...scope.spans);
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans, paths };
}

const open = (endpoint: string, percent = 100): OtlpTracer =>
  openOtlpTracer({ endpoint, percent, workerName: 'test', clock: systemClock, log: silentLog });

const TRACE = '0af7651916cd43dd8448eb211c80319c';
const CALLER = 'b7ad6b7169203331';

test('[OT1] a span inside another is its child, also across awaits; the first is the child of the caller named in traceparent', async () => {
  const { endpoint, spans, paths } = await aCollector();
  const tracer = open(endpoint, 0); // the caller has decided that this is traced
  const options = { facts: { 'http.route': '/x' }, parent: `00-${TRACE}-${CALLER}-01` };
  const answer = await tracer.span('GET /x', options, async (span) => {
    await Promise.resolve();
    const loaded = await tracer.span('room.load', {}, async () => 'room');
    span.note({ 'http.response.status_code': 200 });
    return loaded;
  });
  expect(answer).toBe('room');
  await tracer.close();
  expect(paths).toEqual(['/v1/traces']);
  const [load, request] = spans;
  expect(request).toMatchObject({ name: 'GET /x', traceId: TRACE, parentSpanId: CALLER });
  expect(load).toMatchObject({ name: 'room.load', traceId: TRACE, parentSpanId: request!.spanId });
  expect(request!.attributes).toEqual([
    { key: 'http.route', value: { stringValue: '/x' } },
    { key: 'http.response.status_code', value: { intValue: 200 } },
  ]);
});

test('[OT2] an error is thrown on, and the span says its code but not its message; a traceparent that is none is ignored', async () => {
  const { endpoint, spans } = await aCollector();
  const tracer = open(endpoint);
  const failing = tracer.span('GET /x', { parent: 'nonsense' }, async () => {
    throw new AppError('ROOM_NOT_FOUND', { roomId: 'secret room' });
  });
  await expect(failing).rejects.toThrow(AppError);
  await tracer.close();
  expect(spans).toEqual([expect.objectContaining({ name: 'GET /x', status: { code: 2, message: 'ROOM_NOT_FOUND' } })]);
  expect(spans[0]!.parentSpanId).toBeUndefined();
  expect(JSON.stringify(spans)).not.toContain('secret room');
});

test('[OT3] without a collector work goes on, and the end does not wait for it', async () => {
  const tracer = open(`http://127.0.0.1:${await freePort()}`);
  expect(await tracer.span('GET /x', {}, async () => 1)).toBe(1);
  await tracer.close();
});
