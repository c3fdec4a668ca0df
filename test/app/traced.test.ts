/** A whole server with a collector beside it: which spans there are, and how they hang together. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { startApp } from '../../src/app.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
const KEYS = { SECRET_KEY: 'sk_for_the_trace_test_only', PUBLIC_KEY: 'pk_for_the_trace_test_only' };

interface Received {
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly attributes: readonly {
    readonly key: string;
    readonly value: { readonly stringValue?: string; readonly intValue?: number };
  }[];
}

async function aCollector(): Promise<{ url: string; spans: Received[] }> {
  const spans: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    for (const { scopeSpans } of JSON.parse(Buffer.concat(chunks).toString()).resourceSpans)
      for (const scope of scopeSpans) spans.push(...scope.spans);
    response.end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, spans };
}

test('[OT4] a request is a span by its route, with its ids; the room that it wakes loads inside it, and snapshots are spans, too', async () => {
  const { url, spans } = await aCollector();
  const folder = await aDataDir('atrium-traced-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const settings = { ...KEYS, HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, DATABASE_URL: await postgres.database() };
  const app = await startApp(readSettings({ ...settings, OTEL_EXPORTER_OTLP_ENDPOINT: url, TRACED_PERCENT: '100' }), {
    log: silentLog,
    onFatal: (reason) => {
      throw new Error(reason);
    },
  });
  const call = (method: string, path: string, body: unknown): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${KEYS.SECRET_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  await call('POST', '/v2/rooms', { id: 'traced', defaultAccesses: [] });
  const patched = await call('PATCH', '/v2/rooms/traced/storage/json-patch', [{ op: 'add', path: '/a', value: 1 }]);
  expect(patched.status).toBe(200);
  await call('PATCH', '/v2/rooms/missing/storage/json-patch', []);
  await app.stop();

  const named = (name: string): Received[] => spans.filter((span) => span.name === name);
  const [request, missing] = named('PATCH /v2/rooms/:roomId/storage/json-patch');
  const [load] = named('room.load');
  expect(named('POST /v2/rooms')).toHaveLength(1);
  const facts = new Map(request!.attributes.map(({ key, value }) => [key, value.stringValue ?? value.intValue]));
  expect(facts.get('atrium.room_id')).toBe('traced');
  expect(facts.get('atrium.request_id')).toBe(patched.headers.get('x-request-id'));
  expect(facts.get('http.response.status_code')).toBe(200);
  expect(load).toMatchObject({ traceId: request!.traceId, parentSpanId: request!.spanId });
  expect(named('room.snapshot')).toHaveLength(1);
  expect(missing!.traceId).not.toBe(request!.traceId);
});
