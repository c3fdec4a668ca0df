/** A whole server and what its admin port says of it. */
import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { type App, startApp } from '../../src/app.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { freePort } from '../support/e2e/free-port.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
const KEYS = { SECRET_KEY: 'sk_for_the_admin_test_only', PUBLIC_KEY: 'pk_for_the_admin_test_only' };

async function anApp() {
  const folder = await aDataDir('atrium-admin-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  const adminPort = await freePort();
  const settings = { ...KEYS, HOST: '127.0.0.1', PORT: '0', ADMIN_PORT: String(adminPort), DATA_DIR: folder };
  const started: { app: App | null; asked: number } = { app: null, asked: 0 };
  const starting = startApp(readSettings({ ...settings, DATABASE_URL: await postgres.database() }), {
    log: silentLog,
    onFatal: (reason) => {
      throw new Error(reason);
    },
    onDrainAsked() {
      started.asked += 1;
      void started.app?.stop();
    },
  });
  const admin = async (path: string, method = 'GET'): Promise<{ status: number; text: string }> => {
    const response = await fetch(`http://127.0.0.1:${adminPort}${path}`, { method });
    return { status: response.status, text: await response.text() };
  };
  /** The value of a line of /metrics; 0 when there is none. */
  const metric = async (line: string): Promise<number> => {
    const found = (await admin('/metrics')).text.split('\n').find((candidate) => candidate.startsWith(`${line} `));
    return Number(found?.slice(line.length + 1) ?? 0);
  };
  return { starting, started, admin, metric };
}

test('[AD6] a server is alive while it starts, ready once it serves, and not ready from the moment it is asked to drain', async () => {
  const { starting, started, admin } = await anApp();
  const early = await until('the admin port answers', () => admin('/readyz'));
  expect(early).toEqual({ status: 503, text: 'not ready: it is starting\n' });
  expect((await admin('/livez')).status).toBe(200);
  const app = await starting;
  started.app = app;
  expect((await admin('/readyz')).status).toBe(200);
  const slow = connect(app.port, '127.0.0.1'); // a request on its way holds the drain up
  slow.write(
    `POST /v2/rooms HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEYS.SECRET_KEY}\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"id"`,
  );
  await once(slow, 'connect');
  expect((await fetch(`${app.url}/health`)).status).toBe(200); // what came before it has arrived
  expect(await admin('/drain', 'POST')).toEqual({ status: 202, text: 'draining\n' });
  expect(await admin('/readyz')).toEqual({ status: 503, text: 'not ready: it is draining\n' });
  expect((await admin('/livez')).status).toBe(200);
  slow.end(':"slow"}');
  await app.stop();
  expect(started.asked).toBe(1);
  await expect(admin('/livez')).rejects.toThrow();
});

test('[AD7] rooms, sockets, requests, claims, appends and the lease are counted', async () => {
  const { starting, admin, metric } = await anApp();
  const app = await starting;
  onTestFinished(() => app.stop());
  const call = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${KEYS.SECRET_KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  await call('POST', '/v2/rooms', { id: 'counted', defaultAccesses: ['*:write'] });
  await call('GET', '/v2/rooms/missing');
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/v8?roomId=counted&pubkey=${KEYS.PUBLIC_KEY}`);
  await once(socket, 'message');
  await call('PATCH', '/v2/rooms/counted/storage/json-patch', [{ op: 'add', path: '/a', value: 1 }]);
  expect(await metric('atrium_rooms')).toBe(1);
  expect(await metric('atrium_connections')).toBe(1);
  expect(await metric('atrium_ready')).toBe(1);
  expect(await metric('atrium_claims_total{outcome="claimed"}')).toBe(1);
  const appends = await metric('atrium_journal_appends_total{outcome="committed"}');
  expect(appends).toBeGreaterThan(0);
  expect(await metric('atrium_journal_flush_entries_sum')).toBe(appends);
  expect(await metric('atrium_journal_flush_bytes_sum')).toBeGreaterThan(0);
  expect(await metric('atrium_rest_requests_total{status="2xx"}')).toBe(2);
  expect(await metric('atrium_rest_requests_total{status="4xx"}')).toBe(1);
  expect(await metric('atrium_rest_request_seconds_count')).toBe(3);
  expect(await metric('atrium_refusals_total{error="ROOM_NOT_FOUND"}')).toBe(1);
  expect(await metric('atrium_takeovers_total{from="released"}')).toBe(1);
  expect(await metric('atrium_room_load_seconds_count')).toBe(1);
  expect(await metric('atrium_directory_up')).toBe(1);
  expect(await metric('atrium_heap_limit_bytes')).toBeGreaterThan(100_000_000);
  await until('the lease is renewed', async () => (await metric('atrium_lease_renewals_total{outcome="renewed"}')) > 0);
  const remaining = await metric('atrium_lease_remaining_seconds');
  expect(remaining).toBeGreaterThan(0);
  expect(remaining).toBeLessThanOrEqual(3.5);
  for (const [code, label] of [
    [1000, '1000'],
    [4321, 'other'],
  ] as const) {
    const client = new WebSocket(`${app.url.replace('http', 'ws')}/v8?roomId=counted&pubkey=${KEYS.PUBLIC_KEY}`);
    await once(client, 'message');
    client.close(code);
    await until('the close is counted', async () => (await metric(`atrium_socket_closes_total{code="${label}"}`)) === 1);
  }
  const refused = new WebSocket(`${app.url.replace('http', 'ws')}/v8?roomId=nowhere&pubkey=pk_of_somebody_else`);
  const [code] = await once(refused, 'close');
  expect(code).toBeGreaterThanOrEqual(4000);
  const page = (await admin('/metrics')).text;
  expect(page).toMatch(/atrium_refusals_total\{error="(?!ROOM_NOT_FOUND")[A-Z_]+"\} 1\n/);
  await call('DELETE', '/v2/rooms/counted');
  expect(await metric('atrium_rooms_lost_total{why="retired"}')).toBe(1);
});
