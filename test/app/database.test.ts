import { expect, onTestFinished, test } from 'vitest';
import { openDatabase } from '../../src/app/database.ts';
import { startApp } from '../../src/app.ts';
import { makeLog, silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { aDataDir, usePostgres } from '../support/postgres.ts';
import { startTcpProxy } from '../support/tcp-proxy.ts';

const KEYS = { SECRET_KEY: 'sk_test_0000000000000000', PUBLIC_KEY: 'pk_test_0000000000000000' };
const postgres = usePostgres();

test('[OW18] the lease has a connection that is open before any other is short', async () => {
  const settings = readSettings({ ...KEYS, DATABASE_URL: await postgres.database() });
  const database = await openDatabase(settings, { log: silentLog, onFatal: (reason) => expect.fail(reason) });
  onTestFinished(() => database.close());
  const backend = async (db: Sql): Promise<number> =>
    (await db.query(sql<{ pid: number }>`select pg_backend_pid() as pid`))[0]!.pid;
  const first = await backend(database.lease);
  let release: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const holders = [database.db, database.authority].flatMap((pool) =>
    Array.from({ length: settings.DATABASE_POOL_MAX }, () =>
      pool.transaction(async (held) => {
        await held.query(sql`select 1`);
        await released;
      }),
    ),
  );
  expect(await backend(database.lease)).toBe(first);
  release();
  await Promise.all(holders);
});

test('[AP3] a worker that is started while the database is away waits for it', async () => {
  const database = await postgres.database();
  const proxy = await startTcpProxy({ target: { path: `${new URL(database).searchParams.get('host')}/.s.PGSQL.5432` } });
  onTestFinished(() => proxy.close());
  proxy.refuse();
  const url = `postgres://atrium@${proxy.address}${new URL(database).pathname}?sslmode=disable`;
  const settings = readSettings({
    ...KEYS,
    HOST: '127.0.0.1',
    PORT: '0',
    DATA_DIR: await aDataDir('atrium-test-'),
    DATABASE_URL: url,
  });
  let waits: () => void = () => undefined;
  const isWaiting = new Promise<void>((resolve) => {
    waits = resolve;
  });
  const log = makeLog('silent', process.stdout);
  const watched = Object.assign(Object.create(log), { warn: () => waits() });
  const starting = startApp(settings, { log: watched, onFatal: (reason) => expect.fail(reason) });
  await isWaiting;
  proxy.heal();
  const app = await starting;
  onTestFinished(() => app.stop());
  expect((await fetch(`${app.url}/health`)).status).toBe(200);
});
