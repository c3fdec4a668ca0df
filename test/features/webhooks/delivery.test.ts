import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { Deadline } from '../../../src/adapters/deadline.ts';
import { HttpOutgoing } from '../../../src/adapters/http-outgoing.ts';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/observe.ts';
import {
  claimQuery,
  deleteOld,
  deleteOrphans,
  enqueue,
  findDue,
  noteFailed,
  noteWhereWaitingBegins,
  WAITING_MAX,
} from '../../../src/features/webhooks/delivery/queries.ts';
import { WebhookSender } from '../../../src/features/webhooks/delivery/sender.ts';
import { deleteWebhook, recoverFailed, rollSecret, updateWebhook } from '../../../src/features/webhooks/endpoints/queries.ts';
import { type Query, sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../../src/kernel/persistence/sql-outbox.ts';
import type { Outgoing } from '../../../src/kernel/transport/outgoing.ts';
import { aReceiver, refused } from '../../support/e2e/receiver.ts';
import { until } from '../../support/e2e/until.ts';
import { planOf } from '../../support/plan.ts';
import { usePostgres } from '../../support/postgres.ts';
import { meddled } from '../../support/streams.ts';
import { again, aHook, rowsOf } from './hooks.ts';

const postgres = usePostgres();
let db: PostgresSql;
/** Connections of another worker. */
let other: PostgresSql;
const senders: WebhookSender[] = [];
beforeAll(async () => {
  const url = await postgres.database();
  [db, other] = [await postgres.open({ url }), await postgres.open({ url })];
});
beforeEach(() => db.query(sql`truncate webhooks, webhook_deliveries, outbox cascade`));
afterEach(() => Promise.all(senders.splice(0).map((sender) => sender.close())));

const outgoing = new HttpOutgoing({ targets: 'all' });
function aSender(over = db): WebhookSender {
  const sender = new WebhookSender({ db: over, clock: systemClock, log: silentLog, outgoing });
  senders.push(sender);
  return sender;
}
const created = (n = 0) => ({ type: 'roomCreated' as const, body: JSON.stringify({ type: 'roomCreated', data: { n } }) });
const dueNow = () => db.query(sql`update webhook_deliveries set due_at = clock_timestamp() where due_at is not null`);

test('[WD18] that many wait for an answer at once is no reason for Node to warn of a leak', async () => {
  const warned = vi.spyOn(process, 'emitWarning');
  const waiting = new Set<() => void>();
  const slow: Outgoing = {
    objectionTo: () => null,
    async post({ signal }) {
      const deadline = new Deadline(60_000, signal);
      await new Promise<void>((resolve) => waiting.add(resolve));
      deadline.end();
      return { kind: 'answered', status: 200 };
    },
  };
  const sender = new WebhookSender({ db, clock: systemClock, log: silentLog, outgoing: slow });
  senders.push(sender);
  const hooks = await Promise.all(Array.from({ length: 12 }, () => aHook(db)));
  const sent = hooks.map(({ pk }) => sender.sendOnce(pk, 'hello'));
  await until('all wait', async () => waiting.size === 12);
  for (const answer of waiting) answer();
  expect((await Promise.all(sent)).every(({ isDelivered }) => isDelivered)).toBe(true);
  expect(warned).not.toHaveBeenCalled();
  warned.mockRestore();
});

describe('writing', () => {
  test('[WD1] there is a row for each message and each webhook that wants it, none for others', async () => {
    const [one, two] = [await aHook(db), await aHook(db, { subscribedEvents: ['roomCreated', 'roomDeleted'] })];
    const [third, off] = [await aHook(db, { subscribedEvents: ['userLeft'] }), await aHook(db)];
    await updateWebhook(db, off.id, { disabled: true });
    expect(await enqueue(db, [created(1), { type: 'roomDeleted', body: 'gone' }, created(2)])).toBe(5);
    const bodies = async (hook: typeof one) => (await rowsOf(db, hook)).map(({ body }) => body);
    expect(await bodies(one)).toEqual([created(1).body, created(2).body]);
    expect(await bodies(two)).toEqual([created(1).body, 'gone', created(2).body]);
    expect([await bodies(third), await bodies(off)]).toEqual([[], []]);
    expect(await enqueue(db, [{ ...created(3), webhookPk: two.pk }])).toBe(1);
    const ids = [...(await rowsOf(db, one)), ...(await rowsOf(db, two))].map(({ id }) => id);
    expect(new Set(ids).size).toBe(6);
  });

  test('[WD1] of an event there is one row, however often its consumer dies before its transaction ends', async () => {
    const hook = await aHook(db);
    let deaths = 3;
    const dying = meddled(db, async (query, run) => {
      const rows = await run();
      if (/insert into webhook_deliveries/.test(query.text) && deaths-- > 0) throw new Error('died');
      return rows;
    });
    const outbox = new SqlOutbox({ db: dying, clock: systemClock, log: silentLog });
    outbox.consume('webhooks', async (_, tx) => void (await enqueue(tx, [created()])));
    await outbox.add(db, { type: 'webhooks', payload: {} });
    await until('the event has gone', async () => {
      await db.query(sql`update outbox set due_at = now()`);
      outbox.nudge();
      await outbox.idle();
      return (await db.query(sql`select 1 from outbox`)).length === 0;
    });
    await outbox.close();
    expect(deaths).toBeLessThan(0);
    expect(await rowsOf(db, hook)).toHaveLength(1);
  });

  test('[WD2] when too many wait, what comes is written down as given up', async () => {
    const hook = await aHook(db);
    await db.query(sql`
      insert into webhook_deliveries (webhook_pk, id, body, due_at)
      select ${hook.pk}, 'msg_' || n, 'x', now() + interval '1 hour' from generate_series(1, ${WAITING_MAX - 1}::integer) n`);
    await enqueue(db, [created(1)]);
    await enqueue(db, [created(2)]);
    const [last, beyond] = (await rowsOf(db, hook)).slice(-2);
    expect([last!.state, beyond!.state, beyond!.problem]).toEqual(['waiting', 'failed', 'too many messages were waiting']);
  });
});

describe('looking', () => {
  test('[WD15] what is due is found and taken by an index, however much was delivered', async () => {
    const hook = await aHook(db);
    await db.query(sql`
      insert into webhook_deliveries (webhook_pk, id, body, delivered_at, due_at)
      select ${hook.pk}::bigint, 'msg_' || n, 'x', case when n > 100 then now() end, case when n <= 100 then now() end from generate_series(1, 20000) n`);
    await db.query(sql`analyze webhook_deliveries`);
    const [found, taken] = [
      await planOf(db, findDue),
      await planOf(db, (explaining) => explaining.query(claimQuery(hook.pk, 8))),
    ];
    for (const plan of [found, taken]) {
      expect(plan).toMatch(/webhook_deliveries_due .*\n +Index Cond: .*webhook_pk = .*due_at >=/);
      expect(plan).not.toContain('Seq Scan on webhook_deliveries');
    }
    expect(taken).toMatch(/Index Cond: .*due_at <= statement_timestamp/);
    expect(taken).toContain('Index Cond: (pk = ANY');
  });

  test('[WD16] messages of webhooks that are gone are found by an index, however many there are of others', async () => {
    await db.query(sql`
      insert into webhook_deliveries (webhook_pk, id, body, delivered_at)
      select n % 10, 'msg_' || n, 'x', now() from generate_series(1, 20000) n`);
    await db.query(sql`analyze webhook_deliveries`);
    const asked: Query[] = [];
    await deleteOrphans({ ...db, change: async (query) => asked.push(query) }, 1_000);
    const plan = await planOf(db, (explaining) => explaining.query(asked[0]!));
    expect(plan).not.toContain('Seq Scan on webhook_deliveries');
  });

  describe('where waiting begins', () => {
    const begin = async () =>
      (
        await db.query(
          sql<{ agoS: number }>`select extract(epoch from now() - due_from)::float8 as "agoS" from webhooks order by pk`,
        )
      ).map(({ agoS }) => Math.round(agoS));
    const wait = (hook: { pk: number }, ago: string) =>
      db.query(sql`
        insert into webhook_deliveries (webhook_pk, id, body, due_at) values (${hook.pk}, 'msg', 'x', now() - ${ago}::interval)`);

    test('[WD17] what waits is looked for from a minute before the first of it, or before now', async () => {
      const [hook] = [await aHook(db), await aHook(db)];
      await wait(hook!, '1 hour');
      await noteWhereWaitingBegins(db);
      expect(await begin()).toEqual([3_660, 60]);
      expect(await findDue(db)).toEqual([hook!.pk]);
      expect(await db.query(claimQuery(hook!.pk, 8))).toHaveLength(1);
      await noteWhereWaitingBegins(db); // it was claimed, and waits for longer
      expect(await begin()).toEqual([60, 60]);
    });

    test('[WD17] a message that was long in being written is found all the same', async () => {
      const hook = await aHook(db);
      await noteWhereWaitingBegins(db);
      await wait(hook, '5 minutes');
      expect(await findDue(db)).toEqual([]);
      await noteWhereWaitingBegins(db);
      expect([await begin(), await findDue(db)]).toEqual([[360], [hook.pk]]);
    });

    test('[WD17] until somebody has looked all that waits is found', async () => {
      const hook = await aHook(db);
      await wait(hook, '1 year');
      expect(await findDue(db)).toEqual([hook.pk]);
    });
  });
});

describe('sending', () => {
  test('[WD3] two workers send each message once', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(db, { url: receiver.url });
    await enqueue(
      db,
      Array.from({ length: 150 }, (_, n) => created(n)),
    );
    for (const sender of [aSender(), aSender(other)]) sender.start();
    await until('all came', () => receiver.received.length >= 150);
    await until('all are noted', async () => (await rowsOf(db, hook)).every(({ state }) => state === 'delivered'));
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(150);
    expect(receiver.received).toHaveLength(150);
  });

  test('[WD4] what fails is tried after 5 s, 5 min, 30 min, 2 h, 5 h, 10 h, 10 h, and then given up', async () => {
    const receiver = await aReceiver(refused(500));
    const hook = await aHook(db, { url: receiver.url });
    await enqueue(db, [created()]);
    const sender = aSender();
    const waits: (number | null)[] = [];
    for (let attempt = 1; attempt <= 8; attempt += 1) {
      await dueNow();
      sender.nudge();
      await until('it has failed', async () => (await rowsOf(db, hook))[0]!.attempts === attempt);
      const { inMs, problem } = (await rowsOf(db, hook))[0]!;
      waits.push(inMs === null ? null : Math.round(inMs / 1_000));
      expect(problem).toBe('it was answered with 500');
    }
    expect(waits).toEqual([5, 300, 1_800, 7_200, 18_000, 36_000, 36_000, null]);
    expect((await rowsOf(db, hook))[0]!.state).toBe('failed');
  });

  const failOnce = async (since: string | null) => {
    const receiver = await aReceiver(refused(404));
    const hook = await aHook(db, { url: receiver.url });
    await enqueue(db, [created(1), created(2)]);
    if (since !== null) await db.query(sql`update webhooks set failing_since = now() - ${since}::interval`);
    const sender = aSender();
    sender.nudge();
    await until('both were tried', async () => receiver.received.length === 2 && (await findDue(db)).length === 0);
    await until('that is noted', async () => (await rowsOf(db, hook)).every(({ problem }) => problem !== null));
    return { receiver, hook, sender };
  };

  test('[WD5] when everything has failed for five days the webhook is disabled, and what waits is given up', async () => {
    const { hook } = await failOnce('5 days 1 minute');
    expect((await again(db, hook))!.disabled).toBe(true);
    expect((await rowsOf(db, hook)).map(({ state }) => state)).toEqual(['failed', 'failed']);
    await updateWebhook(db, hook.id, { disabled: false });
    expect(await db.query(sql`select failing_since from webhooks`)).toEqual([{ failing_since: null }]);
  });

  test('[WD5] not before, and one success begins the days anew', async () => {
    const { hook, receiver, sender } = await failOnce('4 days 23 hours');
    expect((await again(db, hook))!.disabled).toBe(false);
    receiver.answer = (_, response) => void response.writeHead(200).end();
    await dueNow();
    sender.nudge();
    await until('they are taken', async () => (await rowsOf(db, hook)).every(({ state }) => state === 'delivered'));
    await until(
      'that counts',
      async () => (await db.query(sql`select 1 from webhooks where failing_since is null`)).length === 1,
    );
  });

  test('[WD6] what a dead worker had claimed is sent by another once its claim has lapsed, and only the last may say how it went', async () => {
    const receiver = await aReceiver();
    const hook = await aHook(db, { url: receiver.url });
    await enqueue(db, [created()]);
    const [dead] = await db.query(claimQuery(hook.pk, 8));
    expect(await db.query(claimQuery(hook.pk, 8))).toEqual([]);
    expect((await rowsOf(db, hook))[0]!.inMs).toBeGreaterThan(20_000); // longer than an attempt may take
    await dueNow();
    aSender().nudge();
    await until('it came', async () => (await rowsOf(db, hook))[0]!.state === 'delivered');
    await noteFailed(db, dead!, { problem: 'late', againMs: 0 });
    expect((await rowsOf(db, hook))[0]).toMatchObject({ state: 'delivered', attempts: 0, problem: null });
  });

  test('[WD7] a worker that ends leaves what it has not been answered to others, at once', async () => {
    const receiver = await aReceiver(() => undefined);
    const hook = await aHook(db, { url: receiver.url });
    await enqueue(db, [created()]);
    const sender = aSender();
    sender.nudge();
    await until('it is on its way', () => receiver.received.length === 1);
    await sender.close();
    const [row] = await rowsOf(db, hook);
    expect([row!.state, row!.attempts, row!.inMs! <= 0]).toEqual(['waiting', 0, true]);
  });

  test('[WD11] what is to be sent at once and cannot be, because its rate is used up or its worker ends, is given up', async () => {
    const silent = await aReceiver(() => undefined);
    const hook = await aHook(db, { url: silent.url, rateLimit: 1 });
    await db.query(sql`update webhooks set next_at = clock_timestamp() + interval '1 minute'`);
    const sender = aSender();
    expect((await sender.sendOnce(hook.pk, 'sample')).isDelivered).toBe(false);
    expect(silent.received).toEqual([]);
    const free = await aHook(db, { url: silent.url });
    const sending = sender.sendOnce(free.pk, 'sample');
    await until('it is on its way', () => silent.received.length === 1);
    await sender.close();
    expect((await sending).isDelivered).toBe(false);
    for (const one of [hook, free]) expect(await rowsOf(db, one)).toMatchObject([{ state: 'failed' }]);
  });

  test('[WD8] with a rate, moments are handed out over all workers', async () => {
    const hook = await aHook(db, { rateLimit: 4 });
    await enqueue(
      db,
      Array.from({ length: 20 }, (_, n) => created(n)),
    );
    const waits: number[] = [];
    for (let ask = 0; ask < 4; ask += 1) waits.push(...(await db.query(claimQuery(hook.pk, 8))).map(({ waitMs }) => waitMs));
    expect(waits).toHaveLength(8); // four now, four within the next second, and no more yet
    for (const [place, wait] of waits.entries()) expect(Math.abs(wait - place * 250)).toBeLessThan(100);
    expect(await findDue(db)).toEqual([]);
  });

  test('[WD9] it is signed with the secret of today and those of the last day', async () => {
    const hook = await aHook(db, { secret: 'whsec_1' });
    const secretsNow = async () => {
      await enqueue(db, [created()]);
      return (await db.query(claimQuery(hook.pk, 1)))[0]!.secrets;
    };
    await rollSecret(db, hook.id, 'whsec_2');
    await rollSecret(db, hook.id, 'whsec_3');
    expect(await secretsNow()).toEqual(['whsec_3', 'whsec_2', 'whsec_1']);
    const [{ until: ends } = { until: '' }] = await db.query(
      sql<{ until: string }>`select old_secrets -> 0 ->> 'until' as until from webhooks`,
    );
    expect(Math.abs(Date.parse(ends) - Date.now() - 86_400_000)).toBeLessThan(5_000);
    await db.query(sql`update webhooks set old_secrets = replace(old_secrets::text, ${ends}, '2020-01-01T00:00:00.000Z')::jsonb`);
    expect(await secretsNow()).not.toContain('whsec_2');
    for (let n = 4; n < 20; n += 1) await rollSecret(db, hook.id, `whsec_${n}`);
    expect(await secretsNow()).toHaveLength(6);
    await db.transaction(async (tx) => {
      for (const secret of ['whsec_20', 'whsec_21']) await rollSecret(tx, hook.id, secret); // in one moment: a transaction has no other
    });
    expect(await secretsNow()).toEqual(['whsec_21', 'whsec_20', 'whsec_19', 'whsec_18', 'whsec_17', 'whsec_16']);
  });

  test('[WD10] delivered messages go after a day, given up ones after a week; what waits stays', async () => {
    const hook = await aHook(db);
    await db.query(sql`
      insert into webhook_deliveries (webhook_pk, id, body, due_at, delivered_at, failed_at)
      values (${hook.pk}, 'old', 'x', null, now() - interval '25 hours', null), (${hook.pk}, 'new', 'x', null, now() - interval '23 hours', null),
             (${hook.pk}, 'failed', 'x', null, null, now() - interval '8 days'), (${hook.pk}, 'later', 'x', null, null, now() - interval '6 days'),
             (${hook.pk}, 'waits', 'x', now() - interval '9 days', null, null)`);
    expect([await deleteOld(db, 10), await deleteOld(db, 10)]).toEqual([2, 0]);
    expect((await rowsOf(db, hook)).map(({ id }) => id)).toEqual(['new', 'later', 'waits']);
  });

  test('[WD12] a webhook goes at once, its messages after it, some at a time, also one that was being written; those of others stay', async () => {
    const [hook, gone, also] = [await aHook(db), await aHook(db), await aHook(db)];
    await enqueue(db, [1, 2, 3, 4].map(created));
    await db.transaction(async (tx) => {
      await enqueue(tx, [created(5)]);
      expect([await deleteWebhook(other, gone.id), await deleteWebhook(other, also.id)]).toEqual([true, true]); // waits for no message
    });
    expect([await findDue(db), await db.query(claimQuery(gone.pk, 8))]).toEqual([[hook.pk], []]);
    expect((await rowsOf(db, gone)).length).toBe(5);
    const deleted: number[] = [];
    for (let pass = 0; pass < 5; pass += 1) deleted.push(await deleteOrphans(db, 4));
    expect(deleted).toEqual([4, 4, 2, 0, 0]);
    expect([(await rowsOf(db, gone)).length, (await rowsOf(db, also)).length, (await rowsOf(db, hook)).length]).toEqual([
      0, 0, 5,
    ]);
  });

  test('[WD13] a test that failed is not sent again with what failed', async () => {
    const receiver = await aReceiver(refused(500));
    const hook = await aHook(db, { url: receiver.url });
    await enqueue(db, [created()]);
    await db.query(sql`update webhook_deliveries set due_at = null, failed_at = now()`);
    const { id } = await aSender().sendOnce(hook.pk, 'sample');
    await recoverFailed(db, hook.pk, '2026-01-01T00:00:00Z');
    const rows = await rowsOf(db, hook);
    expect(rows.map((row) => [row.id === id, row.state])).toEqual([
      [false, 'waiting'],
      [true, 'failed'],
    ]);
  });

  test('[WD14] a message that was being written while its webhook was disabled is given up when that is enabled again, not sent', async () => {
    const hook = await aHook(db);
    await db.transaction(async (tx) => {
      await enqueue(tx, [created()]);
      await updateWebhook(other, hook.id, { disabled: true });
    });
    expect([await findDue(db), await db.query(claimQuery(hook.pk, 8))]).toEqual([[], []]);
    expect(await updateWebhook(db, hook.id, { disabled: false })).toEqual(await again(db, hook));
    expect(await rowsOf(db, hook)).toMatchObject([{ state: 'failed', problem: 'the webhook was disabled' }]);
    await enqueue(db, [created()]);
    await updateWebhook(db, hook.id, { disabled: false }); // it is: nothing ends
    expect((await rowsOf(db, hook)).map(({ state }) => state)).toEqual(['failed', 'waiting']);
  });
});
