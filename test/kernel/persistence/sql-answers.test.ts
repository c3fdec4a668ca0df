import { expect, test, vi } from 'vitest';
import { silentLog } from '../../../src/base/observe.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlAnswers, type StoredAnswer } from '../../../src/kernel/persistence/sql-answers.ts';
import { planOf } from '../../support/plan.ts';
import { usePostgres } from '../../support/postgres.ts';

const postgres = usePostgres();
const url = await postgres.database();
const db = await postgres.open({ url, lockMsMax: 100 });
const patient = new SqlAnswers({ db: await postgres.open({ url, lockMsMax: 10_000 }), log: silentLog });
const answers = new SqlAnswers({ db, log: silentLog });

let count = 0;
const aKey = (digest = 'd') => ({ id: `key ${++count}`, digest });
const OK: StoredAnswer = { status: 200, headers: { 'content-type': 'application/json' }, body: '{"a":"\\u0000"}' };

/** A change that can be counted. */
const room = (id: string) => async (tx: Sql) => {
  await tx.query(sql`insert into rooms (id) values (${id})`);
  return OK;
};
const isThere = async (id: string) => (await db.query(sql`select 1 from rooms where id = ${id}`)).length === 1;
const rows = (id: string) => db.query(sql<{ status: number | null }>`select status from idempotent_requests where key = ${id}`);
const never = async (): Promise<StoredAnswer> => {
  throw new Error('done twice');
};
const age = (id: string, hours: number) =>
  db.query(sql`update idempotent_requests set created_at = now() - ${hours} * interval '1 hour' where key = ${id}`);

/** Something that is under way until it is let go on. */
function barrier() {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => (open = resolve));
  let reach = (): void => undefined;
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const wait = (): Promise<void> => {
    reach();
    return passed;
  };
  return { open, reached, wait };
}

test('[ID12] a change in the database and the memory of its answer commit together; a repetition is told that answer', async () => {
  const key = aKey();
  expect(await answers.inTransaction(key, room('once'))).toEqual(OK);
  expect(await isThere('once')).toBe(true);
  expect(await answers.inTransaction(key, never)).toEqual(OK);
});

test('[ID13] what is refused or fails is not kept, and leaves nothing behind', async () => {
  const key = aKey();
  const broken = answers.inTransaction(key, async (tx) => {
    await room('refused')(tx);
    throw new Error('refused');
  });
  await expect(broken).rejects.toThrow('refused');
  expect([await isThere('refused'), await rows(key.id)]).toEqual([false, []]);
  await answers.inTransaction(key, room('refused'));
  expect(await isThere('refused')).toBe(true);
});

test('[ID14] the same key for another request is refused, in both ways', async () => {
  const key = aKey();
  await answers.inTransaction(key, room('mine'));
  const other = { ...key, digest: 'other' };
  await expect(answers.inTransaction(other, never)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
  await expect(answers.reserved(other, never)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_REUSED' });
});

test('[ID15] a twin waits for the first, and is told its answer', async () => {
  const key = aKey();
  const gate = barrier();
  const first = answers.inTransaction(key, async (tx) => {
    await gate.wait();
    return room('twins')(tx);
  });
  await gate.reached;
  const twin = patient.inTransaction(key, never);
  await vi.waitFor(async () => expect(await waiters()).toBe(1));
  gate.open();
  expect(await Promise.all([first, twin])).toEqual([OK, OK]);
});

test('[ID15] or does it itself when the first was refused', async () => {
  const key = aKey();
  const gate = barrier();
  const first = answers.inTransaction(key, async () => {
    await gate.wait();
    throw new Error('refused');
  });
  await gate.reached;
  const twin = patient.inTransaction(key, room('second'));
  await vi.waitFor(async () => expect(await waiters()).toBe(1));
  gate.open();
  await expect(first).rejects.toThrow('refused');
  expect([await twin, await isThere('second')]).toEqual([OK, true]);
});

test('[ID15] a twin that would wait too long is refused, and may try again', async () => {
  const key = aKey();
  const gate = barrier();
  const first = answers.inTransaction(key, async (tx) => {
    await gate.wait();
    return room('long')(tx);
  });
  await gate.reached;
  await expect(answers.inTransaction(key, never)).rejects.toMatchObject({
    code: 'IDEMPOTENCY_KEY_IN_USE',
    status: 409,
    retry: true,
  });
  gate.open();
  await first;
  expect(await answers.inTransaction(key, never)).toEqual(OK);
});

test('[ID16] work that asks others holds no transaction; its twin is refused meanwhile, and told the answer afterwards', async () => {
  const key = aKey();
  const gate = barrier();
  const first = answers.reserved(key, async () => {
    await gate.wait();
    return OK;
  });
  await gate.reached;
  expect(await idleInTransaction()).toBe(0);
  await expect(answers.reserved(key, never)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE' });
  gate.open();
  expect(await first).toEqual(OK);
  expect(await answers.reserved(key, never)).toEqual(OK);
});

test('[ID16] refused, it gives the key back; when its worker dies, the reservation ends by itself', async () => {
  const key = aKey();
  await expect(answers.reserved(key, () => Promise.reject(new Error('refused')))).rejects.toThrow('refused');
  expect(await rows(key.id)).toEqual([]);

  void answers.reserved(key, () => new Promise(() => undefined)); // never heard of again
  await vi.waitFor(async () => expect(await rows(key.id)).toEqual([{ status: null }]));
  await expect(answers.reserved(key, never)).rejects.toMatchObject({ code: 'IDEMPOTENCY_KEY_IN_USE' });
  await db.query(sql`update idempotent_requests set reserved_until = now() - interval '1 second' where key = ${key.id}`);
  expect(await answers.reserved(key, async () => OK)).toEqual(OK);
  expect(await answers.reserved(key, never)).toEqual(OK);
});

test('[ID16] an answer that cannot be kept is told all the same', async () => {
  const log = { ...silentLog, warn: vi.fn() };
  let isDown = false;
  const failing: Sql = {
    query: (query) => (isDown ? Promise.reject(new Error('the database is away')) : db.query(query)),
    change: (query) => db.change(query),
    transaction: (work) => db.transaction(work),
  };
  const shaky = new SqlAnswers({ db: failing, log });
  const told = await shaky.reserved(aKey(), async () => {
    isDown = true;
    return OK;
  });
  expect(told).toEqual(OK);
  expect(log.warn).toHaveBeenCalledOnce();
});

test('[ID17] an answer is told for 24 hours; then the key is free, for any request', async () => {
  const key = aKey();
  await answers.inTransaction(key, room('yesterday'));
  await age(key.id, 23);
  expect(await answers.inTransaction(key, never)).toEqual(OK);
  await age(key.id, 25);
  const later = { ...OK, status: 204, body: '' };
  expect(await answers.inTransaction({ ...key, digest: 'other' }, async () => later)).toEqual(later);
  expect(await answers.inTransaction({ ...key, digest: 'other' }, never)).toEqual(later);
});

test('[ID17] each new request removes two that are too old, and no others', async () => {
  const old = [aKey(), aKey(), aKey()];
  const fresh = aKey();
  for (const key of [...old, fresh]) await answers.inTransaction(key, async () => OK);
  for (const key of old) await age(key.id, 30);
  await answers.inTransaction(aKey(), async () => OK);
  const left = (await Promise.all(old.map(({ id }) => rows(id)))).flat();
  expect([left.length, (await rows(fresh.id)).length]).toEqual([1, 1]);
});

const activity = async (condition: string): Promise<number> => {
  const text = `select count(*)::int as count from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid() and ${condition}`;
  const [row] = await db.query<{ count: number }>({ text, values: [] });
  return row!.count;
};
const waiters = () => activity(`wait_event_type = 'Lock'`);
const idleInTransaction = () => activity(`state like 'idle in transaction%'`);

test('[ID26] those that are too old are found by an index, however many others there are', async () => {
  await db.query(sql`
    insert into idempotent_requests (key, digest, status) select 'other ' || n, 'd', 200 from generate_series(1, 20000) n`);
  await db.query(sql`analyze idempotent_requests`);
  const plan = await planOf(
    db,
    (explaining) => new SqlAnswers({ db: explaining, log: silentLog }).inTransaction(aKey(), never).catch(() => undefined), // who explains gets no rows
  );
  expect(plan).toMatch(/idempotent_requests_by_age .*\n +Index Cond: .*created_at < \(?statement_timestamp/);
});
