import { afterAll, afterEach, expect, test, vi } from 'vitest';
import type { PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { OutboxConsumer } from '../../src/kernel/persistence/outbox.ts';
import { sql } from '../../src/kernel/persistence/sql.ts';
import { insertEventsInCase, SqlOutbox } from '../../src/kernel/persistence/sql-outbox.ts';
import { manualClock } from '../support/manual-clock.ts';
import { usePostgres } from '../support/postgres.ts';
import { outboxContract } from './outbox.contract.ts';

const postgres = usePostgres();
let opened: Promise<PostgresSql> | null = null;
let started: SqlOutbox[] = [];

async function untilEmpty(): Promise<void> {
  const db = await opened!;
  while ((await db.query(sql`select from outbox limit 1`)).length > 0) {
    await db.query(sql`update outbox set due_at = now() where due_at > now()`); // failed ones wait seconds otherwise
    for (const worker of started) worker.nudge();
  }
  await Promise.all(started.map((worker) => worker.idle()));
}

afterEach(async () => {
  await Promise.all(started.map((worker) => worker.close()));
  started = [];
});
afterAll(async () => {
  expect(await (await opened)?.query(sql`select from outbox`)).toEqual([]);
});

outboxContract('Postgres', async () => {
  opened ??= postgres.open();
  const db = await opened;
  return {
    db,
    async aWorker(consumers) {
      const worker = new SqlOutbox({ db, clock: systemClock, log: silentLog });
      for (const [type, consumer] of Object.entries(consumers)) worker.consume(type, consumer);
      worker.start();
      started.push(worker);
      return worker;
    },
    untilEmpty,
  };
});

test('[OB5] an event whose worker died before it could relay is found by the poll of another', async () => {
  opened ??= postgres.open();
  const db = await opened;
  const seen: unknown[] = [];
  const clock = manualClock();
  const worker = new SqlOutbox({ db, clock, log: silentLog });
  worker.consume('room.made', async (events) => void seen.push(...events.map(({ payload }) => payload)));
  worker.start();
  await worker.idle();
  await db.query(sql`insert into outbox (type, payload) values ('room.made', '{}')`);
  clock.advance(4_999);
  await worker.idle();
  expect(seen).toEqual([]);
  clock.advance(1);
  await worker.idle();
  expect(seen).toEqual([{}]);
  await worker.close();
});

test('[OB11] an event that its writer acts on by itself comes due for others later, and not once it is removed', async () => {
  opened ??= postgres.open();
  const db = await opened;
  const seen: unknown[] = [];
  const worker = new SqlOutbox({ db, clock: systemClock, log: silentLog });
  worker.consume('in.case', async (events) => void seen.push(...events.map(({ payload }) => payload)));
  const relay = async (): Promise<void> => {
    worker.nudge();
    await worker.idle();
  };
  const events = sql`select 'in.case', jsonb_build_object('n', n) from generate_series(1, 3) n`;
  const written = await db.query(insertEventsInCase(events, 60_000));
  expect(written.map(({ payload }) => payload)).toEqual([{ n: 1 }, { n: 2 }, { n: 3 }]);
  await worker.remove([written[1]!.id]);
  await relay();
  expect(seen).toEqual([]);
  await db.query(sql`update outbox set due_at = due_at - interval '60 seconds'`);
  await relay();
  expect(seen).toEqual([{ n: 1 }, { n: 3 }]);
});

test('[OB7] a consumer that takes few at a time gets all, in order, each few in a transaction of their own', async () => {
  opened ??= postgres.open();
  const db = await opened;
  const seen: unknown[] = [];
  const transactions = new Set<unknown>();
  const worker = new SqlOutbox({ db, clock: systemClock, log: silentLog });
  const note: OutboxConsumer = async (events, tx) => {
    seen.push(events.map(({ payload }) => payload.n));
    for (const { id } of await tx.query(sql<{ id: string }>`select pg_current_xact_id()::text as id`)) transactions.add(id);
  };
  worker.consume('few', note, 2);
  await db.query(sql`insert into outbox (type, payload) select 'few', jsonb_build_object('n', n) from generate_series(1, 5) n`);
  worker.nudge();
  await worker.idle();
  expect(seen).toEqual([[1, 2], [3, 4], [5]]);
  expect(transactions.size).toBe(3);
});

test('[OB12] that an event met a room on its way to another worker is a warning; what may not pass by itself is an error', async () => {
  opened ??= postgres.open();
  const db = await opened;
  const log = { ...silentLog, warn: vi.fn(), error: vi.fn() };
  const errors: Error[] = [new AppError('WORKER_UNREACHABLE'), new AppError('UNPROCESSABLE_ENTITY'), new TypeError('planted')];
  const worker = new SqlOutbox({ db, clock: systemClock, log });
  worker.consume('fails', async () => {
    throw errors.shift()!;
  });
  await db.query(sql`insert into outbox (type, payload) values ('fails', '{}')`);
  while (errors.length > 0) {
    await db.query(sql`update outbox set due_at = now()`);
    worker.nudge();
    await worker.idle();
  }
  await worker.close();
  await db.query(sql`delete from outbox`);
  expect([log.warn, log.error].map(({ mock }) => mock.calls.map(([, phrase]) => phrase))).toEqual([
    ['outbox relay failed'],
    ['outbox relay failed', 'outbox relay failed'],
  ]);
  expect(log.warn.mock.calls[0]![0]).toMatchObject({ err: { code: 'WORKER_UNREACHABLE' } });
});

test('[OB5] an event that keeps failing waits twice as long each time, five minutes at most', async () => {
  opened ??= postgres.open();
  const db = await opened;
  const worker = new SqlOutbox({ db, clock: systemClock, log: silentLog });
  worker.consume('always.fails', async () => {
    throw new Error('never');
  });
  await worker.add(db, { type: 'always.fails', payload: {} });
  const waits: number[] = [];
  for (let attempt = 0; attempt < 11; attempt++) {
    worker.nudge();
    await worker.idle();
    const [row] = await db.query(sql<{ wait: number }>`
      select round(extract(epoch from (due_at - now())))::int as wait from outbox`);
    waits.push(row!.wait);
    await db.query(sql`update outbox set due_at = now()`);
  }
  await db.query(sql`delete from outbox`);
  await worker.close();
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
});
