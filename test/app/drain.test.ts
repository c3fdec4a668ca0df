import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { startApp } from '../../src/app.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { until } from '../support/e2e/until.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
const KEYS = { SECRET_KEY: 'sk_for_the_drain_test_only', PUBLIC_KEY: 'pk_for_the_drain_test_only' };

/** The database behind a cable that can be pulled. */
async function aCable(url: string): Promise<{ url: string; pull(): void }> {
  const path = `${new URL(url).searchParams.get('host')}/.s.PGSQL.5432`; // the embedded one listens on a file
  const ends = new Set<Socket>();
  let isPulled = false;
  const server = createServer((near) => {
    if (isPulled) return void near.destroy();
    const far = connect({ path });
    for (const [end, other] of [
      [near, far],
      [far, near],
    ] as const) {
      ends.add(end);
      end.on('error', () => end.destroy()).on('close', () => other.destroy());
      end.pipe(other);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const cable = new URL(url);
  cable.searchParams.delete('host');
  cable.hostname = '127.0.0.1';
  cable.port = String((server.address() as AddressInfo).port);
  const pull = (): void => {
    isPulled = true;
    for (const end of ends) end.destroy();
  };
  return { url: cable.href, pull };
}

async function anApp(databaseUrl: string) {
  const folder = await aDataDir('atrium-drain-');
  onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
  return startApp(readSettings({ ...KEYS, HOST: '127.0.0.1', PORT: '0', DATA_DIR: folder, DATABASE_URL: databaseUrl }), {
    log: silentLog,
    onFatal: (reason) => {
      throw new Error(reason);
    },
  });
}

test('[AP1] a drain ends in order while the database is away: with an open socket, a write on its way, a request and a room that loads', async () => {
  const cable = await aCable(await postgres.database());
  const app = await anApp(cable.url);
  const call = (method: string, path: string, body?: unknown): Promise<Response> =>
    fetch(`${app.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${KEYS.SECRET_KEY}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  for (const id of ['one', 'two']) await call('POST', '/v2/rooms', { id, defaultAccesses: ['*:write'] });
  const socket = new WebSocket(`${app.url.replace('http', 'ws')}/v8?roomId=one&pubkey=${KEYS.PUBLIC_KEY}`);
  const gone = once(socket, 'close');
  await once(socket, 'message');
  cable.pull();
  const write = call('PATCH', '/v2/rooms/one/storage/json-patch', [{ op: 'add', path: '/a', value: 1 }]);
  const load = call('GET', '/v2/rooms/two/storage');
  await until('the room has the write', async () => (await call('GET', '/v2/rooms/one/active-users')).status === 200);
  await expect(app.stop()).resolves.toBeUndefined();
  expect((await gone)[0]).toBe(1012);
  expect((await write).status).toBe(503);
  expect((await load).status).toBe(503);
}, 30_000);

test('[AP2] who asks twice for a drain gets the same one', async () => {
  const app = await anApp(await postgres.database());
  const drains = [app.stop(), app.stop()];
  await expect(Promise.all(drains)).resolves.toHaveLength(2);
});
