import { once } from 'node:events';
import { rm } from 'node:fs/promises';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { startApp } from '../../src/app.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { SqlOwnership } from '../../src/kernel/cluster/sql-ownership.ts';
import { sql } from '../../src/kernel/persistence/sql.ts';
import { until } from '../support/e2e/until.ts';
import { manualClock } from '../support/manual-clock.ts';
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

test('[AP4] a drain that takes too long gives its lease up: others may take its rooms before that has run out', async () => {
  const databaseUrl = await postgres.database();
  const app = await anApp(databaseUrl);
  onTestFinished(() => app.stop());
  const headers = { authorization: `Bearer ${KEYS.SECRET_KEY}`, 'content-type': 'application/json' };
  await fetch(`${app.url}/v2/rooms`, { method: 'POST', headers, body: JSON.stringify({ id: 'held', defaultAccesses: [] }) });
  expect((await fetch(`${app.url}/v2/rooms/held/storage`, { headers })).status).toBe(200);
  const db = await postgres.open({ url: databaseUrl });
  const heir = await SqlOwnership.register({
    ...{ db, lease: db, clock: manualClock(), random: systemRandom, log: silentLog, address: asWorkerAddress('test:1') },
    ...{ onLapsed: () => undefined, onRecalled: () => undefined },
  });
  const [room] = await db.query(sql<{ pk: number }>`select pk from rooms where id = 'held'`);
  expect(await heir.claim(room!.pk)).toMatchObject({ refused: 'owned' });
  await app.giveUp();
  expect(await heir.claim(room!.pk)).toMatchObject({ crashes: 0 });
  expect((await fetch(`${app.url}/v2/rooms/held/storage`, { headers })).status).toBe(503);
  await heir.retire();
});
