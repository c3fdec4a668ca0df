import { expect, onTestFinished, test } from 'vitest';
import { openDatabase, whenDatabaseAnswers } from '../../src/app/database.ts';
import { startApp } from '../../src/app.ts';
import { AppError } from '../../src/base/errors.ts';
import { makeLog, silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import { type Sql, SqlError, sql } from '../../src/kernel/persistence/sql.ts';
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

test.each<[string, (url: string) => string, RegExp]>([
  [
    'a database that does not exist',
    (url) => url.replace(/\/test_\d+/, '/nowhere'),
    /DATABASE_URL names does not exist .*"nowhere"/,
  ],
  ['a user that does not exist', (url) => withUser(url, 'nobody'), /not let the user of DATABASE_URL in .*"nobody"/],
  ['a user without rights', (url) => withUser(url, 'guest'), /user of DATABASE_URL lacks a right .*permission denied/],
])('[AP6] %s refuses the start with a sentence', async (_, changed, sentence) => {
  const url = await postgres.database();
  const owner = await postgres.open({ url });
  await owner.query({ text: 'drop role if exists guest; create role guest login', values: [] });
  const settings = readSettings({ ...KEYS, DATABASE_URL: changed(url) });
  const opening = openDatabase(settings, { log: silentLog, onFatal: (reason) => expect.fail(reason) });
  await expect(opening).rejects.toMatchObject({ name: 'StartRefused', message: expect.stringMatching(sentence) });
});

test('[AP6] a wrong password refuses the start with a sentence; a mistake of ours is told as it is', async () => {
  const refused = (sqlState: string) => async (): Promise<never> => {
    throw new SqlError('no', { sqlState, constraint: undefined, cause: null });
  };
  const letsNobodyIn = async (): Promise<never> => {
    throw new AppError('DATABASE_UNAVAILABLE', { sqlState: '28P01', reason: 'no' });
  };
  await expect(whenDatabaseAnswers(letsNobodyIn, { log: silentLog })).rejects.toMatchObject({
    message: expect.stringMatching(/correct the user or the password/),
  });
  await expect(whenDatabaseAnswers(refused('42P01'), { log: silentLog })).rejects.toMatchObject({ name: 'SqlError' });
});

test('[AP6] a database whose text is not UTF8 refuses the start with a sentence', async () => {
  const owner = await postgres.open({ url: await postgres.database() });
  const name = 'latin';
  await owner.query({ text: `create database ${name} encoding 'LATIN1' locale 'C' template template0`, values: [] });
  const settings = readSettings({ ...KEYS, DATABASE_URL: (await postgres.database()).replace(/\/test_\d+/, `/${name}`) });
  const opening = openDatabase(settings, { log: silentLog, onFatal: (reason) => expect.fail(reason) });
  await expect(opening).rejects.toMatchObject({ name: 'StartRefused', message: expect.stringMatching(/DATABASE_URL .* UTF8/) });
});

test('[AP7] a DATABASE_URL that nothing can read refuses the start', async () => {
  const settings = readSettings({ ...KEYS, DATABASE_URL: 'postgres://ada:pass/word@localhost/rooms' });
  const opening = openDatabase(settings, { log: silentLog, onFatal: (reason) => expect.fail(reason) });
  await expect(opening).rejects.toMatchObject({ name: 'StartRefused', message: expect.stringContaining('DATABASE_URL') });
});

test('[AP3] that the start waits is logged once for each reason', async () => {
  const logged: unknown[] = [];
  const log = Object.assign(Object.create(silentLog), { warn: ({ reason }: { reason: string }) => logged.push(reason) });
  const reasons = ['away', 'away', 'still starting'];
  const work = async (): Promise<string> => {
    const reason = reasons.shift();
    if (reason !== undefined) throw new AppError('DATABASE_UNAVAILABLE', { reason });
    return 'there';
  };
  expect(await whenDatabaseAnswers(work, { log })).toBe('there');
  expect(logged).toEqual(['away', 'still starting']);
});

test('[AP9] who asks that the process end while the start waits for the database is heard at once, also while nobody even refuses', async () => {
  let askToEnd: () => void = () => undefined;
  const ending = new Promise<void>((resolve) => {
    askToEnd = resolve;
  });
  const away = async (): Promise<never> => {
    askToEnd();
    throw new AppError('DATABASE_UNAVAILABLE', { reason: 'away' });
  };
  await expect(whenDatabaseAnswers(away, { log: silentLog, ending })).rejects.toMatchObject({ name: 'StartEnded' });
  const database = await postgres.database();
  const proxy = await startTcpProxy({ target: { path: `${new URL(database).searchParams.get('host')}/.s.PGSQL.5432` } });
  onTestFinished(() => proxy.close());
  proxy.blackHole('toTarget');
  const url = `postgres://atrium@${proxy.address}${new URL(database).pathname}?sslmode=disable`;
  const begunMs = performance.now();
  const opening = openDatabase(readSettings({ ...KEYS, DATABASE_URL: url }), { log: silentLog, onFatal: expect.fail, ending });
  await expect(opening).rejects.toMatchObject({ name: 'StartEnded' });
  expect(performance.now() - begunMs).toBeLessThan(4_000); // an attempt is given up after 5 s
});

function withUser(url: string, user: string): string {
  return Object.assign(new URL(url), { username: user }).toString();
}
