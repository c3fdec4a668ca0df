import { rmSync } from 'node:fs';
import { createServer, type Server, type Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/adapters/embedded-postgres.ts';
import { readMigrations } from '../../src/adapters/migration-files.ts';
import { openPostgres, type PostgresOptions, type PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/observe.ts';
import { migrate } from '../../src/kernel/persistence/migrate.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { append } from '../support/appends.ts';
import { aDataDir, fillDataDir } from '../support/postgres.ts';
import { anEntry, aStream } from '../support/streams.ts';

let dataDir: string;
let postgres: EmbeddedPostgres;
const pools: PostgresSql[] = [];

async function startPostgres(): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({
    dataDir,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    onExit: () => undefined,
    settings: { fsync: 'off' },
  });
}

function open(options: Partial<PostgresOptions> = {}): PostgresSql {
  const pool = openPostgres({ url: postgres.url, poolMax: 2, log: silentLog, ...options });
  pools.push(pool);
  return pool;
}

beforeAll(async () => {
  dataDir = await aDataDir('atrium-test-');
  await fillDataDir(dataDir);
  postgres = await startPostgres();
  await migrate(open(), await readMigrations());
});
afterAll(async () => {
  await Promise.all(pools.map((pool) => pool.close()));
  await postgres.stop();
  rmSync(dataDir, { recursive: true });
});

/** AuthenticationOk and ReadyForQuery. */
const LET_IN = Buffer.from('5200000008000000005a0000000549', 'hex');

/** One on loopback that speaks as the test says. */
async function serverThat(meets: (socket: Socket) => void): Promise<{ readonly url: string; close(): void }> {
  const server = await new Promise<Server>((resolve) => {
    const opened = createServer(meets).listen(0, '127.0.0.1', () => resolve(opened));
  });
  const { port } = server.address() as { port: number };
  return { url: `postgres://a@127.0.0.1:${port}/a`, close: () => void server.close() };
}

/** Of the parameters of a start message: its length, its version, then names and values in turn, each with a zero behind it. */
function namesIn(message: Buffer): string[] {
  const parts = message.toString('utf8', 8).split('\0');
  return parts.filter((name, index) => index % 2 === 0 && name !== '');
}

const backend = sql<{ pid: number }>`select pg_backend_pid() as pid`;
const pidOf = async (db: Sql): Promise<number> => (await db.query(backend))[0]!.pid;
const unavailable = { code: 'DATABASE_UNAVAILABLE' };

test('[PG5] nobody there is DATABASE_UNAVAILABLE', async () => {
  await expect(open({ url: 'postgres://atrium@127.0.0.1:1/postgres' }).query(backend)).rejects.toMatchObject(unavailable);
});

test("[PG24] what the server's own system fails at may succeed later, on the same connection", async () => {
  const db = open({ poolMax: 1 });
  const pid = await pidOf(db);
  const failing = db.query(sql`do $$ begin raise exception 'could not read block' using errcode = '58030'; end $$`);
  await expect(failing).rejects.toMatchObject({ ...unavailable, facts: { sqlState: '58030', reason: 'could not read block' } });
  expect(await pidOf(db)).toBe(pid);
});

test('[PG23] who is not let in finds the database unavailable, told with the reason; once let in again the same pool serves', async () => {
  const missing = open({ url: postgres.url.replace('/postgres?', '/missing?') }).query(backend);
  await expect(missing).rejects.toMatchObject({ ...unavailable, facts: { sqlState: '3D000' } });
  const owner = open();
  await owner.query(sql`create role guest login`);
  const guest = open({ url: postgres.url.replace(/\/\/[^@]*@/, '//guest@') });
  expect(await pidOf(guest)).toBeGreaterThan(0);
  await owner.query(sql`alter role guest nologin`);
  await owner.query(sql`select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename = 'guest'`);
  await expect(guest.query(backend)).rejects.toMatchObject(unavailable); // the connection that it had
  await expect(guest.query(backend)).rejects.toMatchObject({ ...unavailable, facts: { sqlState: '28000' } });
  await owner.query(sql`alter role guest login`);
  expect(await pidOf(guest)).toBeGreaterThan(0);
});

test('[PG5] a server that takes the connection and says nothing is given up', async () => {
  const sockets: Socket[] = [];
  const mute = await serverThat((socket) => sockets.push(socket));
  await expect(open({ url: mute.url, connectMsMax: 100 }).query(backend)).rejects.toMatchObject(unavailable);
  for (const socket of sockets) socket.destroy();
  mute.close();
});

test('[PG5] a server that lets us in and then says nothing is given up', async () => {
  const sockets: Socket[] = [];
  const mute = await serverThat((socket) => {
    sockets.push(socket);
    socket.once('data', () => socket.write(LET_IN));
  });
  const db = open({ url: mute.url, statementMsMax: 50 });
  await expect(db.query(backend)).rejects.toMatchObject(unavailable);
  for (const socket of sockets) socket.destroy();
  mute.close();
});

test('[PG21] what a connection begins with is what PgBouncer in session mode takes', async () => {
  const heard: string[] = [];
  const ear = await serverThat((socket) => {
    socket.once('data', (message) => {
      heard.push(...namesIn(message));
      socket.destroy();
    });
  });
  await expect(open({ url: ear.url }).query(backend)).rejects.toMatchObject(unavailable);
  const taken = ['user', 'database', 'application_name', 'client_encoding'];
  expect(heard).toContain('user');
  expect(heard.filter((name) => !taken.includes(name))).toEqual([]);
  ear.close();
});

test('[PG22] options in the URL hold, and so do the bounds of every connection', async () => {
  const db = open({ url: `${postgres.url}&options=${encodeURIComponent('-c search_path=elsewhere -c lock_timeout=0')}` });
  const shown = await db.query(
    sql<{ path: string; lock: string; idle: string; statement: string }>`
      select current_setting('search_path') as path, current_setting('lock_timeout') as lock,
        current_setting('idle_in_transaction_session_timeout') as idle, current_setting('statement_timeout') as statement`,
  );
  expect(shown).toEqual([{ path: 'elsewhere', lock: '1s', idle: '5s', statement: '10s' }]);
});

test('[PG5] a server that stops answering is given up, and its connection is not used again', async () => {
  const db = open({ poolMax: 1, statementMsMax: 50 });
  const pid = await pidOf(db);
  process.kill(pid, 'SIGSTOP');
  await expect(db.query(backend)).rejects.toMatchObject(unavailable);
  const next = await pidOf(db);
  process.kill(pid, 'SIGCONT');
  expect(next).not.toBe(pid);
});

test.each(['German', 'SQL, DMY', 'Postgres, MDY'])(
  '[PG25] times are read whatever DateStyle the database has: %s',
  async (style) => {
    const db = open({ url: `${postgres.url}&options=${encodeURIComponent(`-c DateStyle=${style.replace(' ', '')}`)}` });
    const shown = await db.query(sql`select '2026-11-02 03:04:05.678+00'::timestamptz as at`);
    expect(shown).toEqual([{ at: '2026-11-02T03:04:05.678Z' }]);
  },
);

test('[PG26] a transaction that the database ends for its length is one that may pass, and the next has another connection', async () => {
  const db = open({ poolMax: 1, url: `${postgres.url}&options=${encodeURIComponent('-c transaction_timeout=50')}` });
  await expect(db.query(sql`select pg_sleep(5)`)).rejects.toMatchObject({ ...unavailable, facts: { sqlState: '25P04' } });
  expect(await db.query(sql`select 1 as one`)).toEqual([{ one: 1 }]);
});

test('[PG5] a statement that takes too long is ended, and its connection used again', async () => {
  const db = open({ poolMax: 1, statementMsMax: 50 });
  const pid = await pidOf(db);
  await expect(db.query(sql`select pg_sleep(5)`)).rejects.toMatchObject({ ...unavailable, facts: { sqlState: '57014' } });
  expect(await pidOf(db)).toBe(pid);
});

test('[PG5] a connection that dies between two statements fails neither', async () => {
  let onLost = (): void => undefined;
  const lost = new Promise<void>((resolve) => {
    onLost = resolve;
  });
  const db = open({ log: { ...silentLog, warn: () => onLost() } });
  const pid = await pidOf(db);
  expect(await pidOf(db)).toBe(pid); // it is kept
  await open().query(sql`select pg_terminate_backend(${pid}::int)`);
  await lost;
  expect(await pidOf(db)).not.toBe(pid);
});

test('[PG5] closing does not wait for a server that has fallen silent', async () => {
  const db = openPostgres({ url: postgres.url, poolMax: 1, log: silentLog });
  const pid = await pidOf(db);
  process.kill(pid, 'SIGSTOP');
  await db.close();
  process.kill(pid, 'SIGCONT');
});

test('[PG5] who waits for a connection gets it before who comes when it is free', async () => {
  const db = open({ poolMax: 1 });
  const order: string[] = [];
  const late: Promise<unknown>[] = [];
  const first = db.query(backend).then(() => late.push(db.query(backend).then(() => order.push('late'))));
  await Promise.all([first, db.query(backend).then(() => order.push('waiting'))]);
  await Promise.all(late);
  expect(order).toEqual(['waiting', 'late']);
});

test('[PG5] when all connections are taken, who waits too long is told so', async () => {
  const db = open({ poolMax: 1, connectMsMax: 50 });
  await db.transaction(async () => {
    await expect(db.query(backend)).rejects.toMatchObject(unavailable);
  });
  expect(await pidOf(db)).toBeGreaterThan(0);
});

test('[PG5] a value that cannot be sent is our mistake, not the database’s', async () => {
  const circular: Record<string, unknown> = {};
  circular.self = circular;
  const db = open({ poolMax: 1 });
  await expect(db.query(sql`select ${circular}::jsonb`)).rejects.toThrow(TypeError);
  expect(await pidOf(db)).toBeGreaterThan(0);
});

test('[LG6] a database that goes and comes back is said to be away, and to answer, whatever is asked meanwhile; a statement that is cancelled, or waits for a connection, is not', async () => {
  const heard: string[] = [];
  const health = { answered: () => void heard.push('answered'), failed: () => void heard.push('failed') };
  const db = open({ health, poolMax: 1, connectMsMax: 50, statementMsMax: 50 });
  await expect(db.query(sql`select pg_sleep(1)`)).rejects.toMatchObject(unavailable);
  await db.transaction(async () => expect(db.query(backend)).rejects.toMatchObject(unavailable));
  const elsewhere = new AppError('DATABASE_UNAVAILABLE', { reason: 'another worker holds no lease' });
  await expect(db.transaction(() => Promise.reject(elsewhere))).rejects.toBe(elsewhere);
  expect(heard.splice(0)).toEqual(['answered']);
  await postgres.stop();
  await expect(db.query(backend)).rejects.toMatchObject(unavailable);
  await expect(db.query(backend)).rejects.toMatchObject(unavailable);
  postgres = await startPostgres();
  expect(await pidOf(open({ health }))).toBeGreaterThan(0);
  expect(heard).toEqual(['failed', 'failed', 'answered']);
});

test('[JO9] an append waits for a database that restarts, and idle connections that die with it end nothing', async () => {
  const db = open();
  const journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
  const stream = await aStream(db);
  expect(await append(journal, anEntry(stream, 1))).toBe('committed');
  await postgres.stop();
  const waiting = append(journal, anEntry(stream, 2));
  await expect(db.query(backend)).rejects.toMatchObject(unavailable);
  postgres = await startPostgres();
  expect(await waiting).toBe('committed');
  expect(await append(journal, anEntry(stream, 3))).toBe('committed');
  expect((await journal.readAfter(stream, 0)).map(({ version }) => version)).toEqual([1, 2, 3]);
});
