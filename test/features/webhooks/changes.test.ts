import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { ChangeNotes } from '../../../src/features/webhooks/changes/change-notes.ts';
import { type ChangeEvent, deleteOldChanges, takeDueChanges } from '../../../src/features/webhooks/changes/queries.ts';
import { updateWebhook, type WebhookRow } from '../../../src/features/webhooks/endpoints/queries.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { until } from '../../support/e2e/until.ts';
import { planOf } from '../../support/plan.ts';
import { usePostgres } from '../../support/postgres.ts';
import { meddled } from '../../support/streams.ts';
import { aHook, aRoom, told } from './hooks.ts';

const postgres = usePostgres();
let db: PostgresSql;
let room: { pk: number; id: string };
const notes: ChangeNotes[] = [];
beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(async () => {
  await db.query(sql`truncate webhooks, webhook_deliveries cascade`);
  room = await aRoom(db);
});
afterEach(() => Promise.all(notes.splice(0).map((one) => one.close())));

/** Those of one worker, and how often it has noted something. */
function aWorker(workerName = 'one'): ChangeNotes & { writes: number } {
  const counted = { writes: 0 };
  const watched = meddled(db, (query, run) => {
    if (/insert into webhook_changes/.test(query.text)) counted.writes += 1;
    return run();
  });
  const one = new ChangeNotes({
    db: watched,
    clock: systemClock,
    log: silentLog,
    projectId: 'p',
    workerName,
    nudge: () => undefined,
  });
  notes.push(one);
  return Object.defineProperty(one, 'writes', { get: () => counted.writes }) as ChangeNotes & { writes: number };
}
const aWatcher = (over: object = {}) => aHook(db, { subscribedEvents: ['storageUpdated', 'ydocUpdated'], ...over });
const countOf = async (hook: WebhookRow): Promise<number> => (await told(db, hook)).length;
const untilTold = (hook: WebhookRow, count: number) => until(`${count} are told`, async () => (await countOf(hook)) === count);
const isNoted = async (event: ChangeEvent = 'storageUpdated'): Promise<boolean> =>
  (await db.query(sql`select 1 from webhook_changes where due_at is not null and event = ${event}`)).length > 0;
/** As if the windows of all had ended so long ago. */
const windowsEnded = (interval = '0 s') =>
  db.query(sql`update webhook_changes set due_at = clock_timestamp() - ${interval}::interval where due_at is not null`);

describe('changes of a room', () => {
  test('[WC1] the first is told at once; the others of its window together, when it ends, with the time of the last', async () => {
    const hook = await aWatcher();
    const worker = aWorker();
    worker.changed(room.pk, 'storageUpdated');
    await untilTold(hook, 1);
    worker.changed(room.pk, 'storageUpdated');
    await until('that is noted', isNoted);
    await new Promise((resolve) => setTimeout(resolve, 60));
    worker.changed(room.pk, 'storageUpdated');
    const lastMs = Date.now();
    await worker.tellDue();
    expect(await countOf(hook)).toBe(1); // not yet
    await windowsEnded();
    await worker.tellDue();
    const [, second] = await told(db, hook);
    expect(second).toEqual({ type: 'storageUpdated', data: { projectId: 'p', roomId: room.id, updatedAt: expect.any(String) } });
    expect(Math.abs(Date.parse(second!.data.updatedAt) - lastMs)).toBeLessThan(20);
    await windowsEnded();
    await worker.tellDue();
    expect(await countOf(hook)).toBe(2); // nothing has changed since
  });

  test('[WC2] a thousand changes in a window cost two writes, of which the first tells', async () => {
    const hook = await aWatcher();
    const worker = aWorker();
    worker.changed(room.pk, 'storageUpdated');
    await untilTold(hook, 1);
    worker.changed(room.pk, 'storageUpdated');
    await until('that is noted', isNoted);
    await new Promise((resolve) => setTimeout(resolve, 50)); // until the worker knows it, too
    for (let n = 0; n < 1_000; n += 1) {
      worker.changed(room.pk, 'storageUpdated');
      if (n % 100 === 0) await new Promise((resolve) => setTimeout(resolve, 15));
    }
    await worker.close();
    expect(worker.writes).toBe(2);
  });

  test('[WC3] Storage and Yjs documents, rooms and webhooks each have a window of their own', async () => {
    const [hook, slow] = [await aWatcher({ storageThrottleS: 1 }), await aWatcher({ storageThrottleS: 3_600 })];
    const other = await aRoom(db);
    const worker = aWorker();
    for (const { pk } of [room, other]) for (const event of ['storageUpdated', 'ydocUpdated'] as const) worker.changed(pk, event);
    await untilTold(hook, 4);
    worker.changed(room.pk, 'storageUpdated');
    await until('that is noted', isNoted);
    await until('the one with the short window is told', async () => {
      await worker.tellDue();
      return (await countOf(hook)) === 5;
    });
    expect(await countOf(slow)).toBe(4);
    worker.changed(room.pk, 'storageUpdated'); // covered for the slow one alone
    await until('the other is told of this, too', async () => {
      await worker.tellDue();
      return (await countOf(hook)) === 6;
    });
    expect(await countOf(slow)).toBe(4);
  });

  test('[WC4] of several workers that find something due each message is told by one', async () => {
    const hook = await aWatcher();
    const workers = [aWorker('one'), aWorker('two'), aWorker('three')];
    const rooms = await Promise.all(Array.from({ length: 40 }, () => aRoom(db)));
    for (const [n, { pk }] of rooms.entries()) workers[n % 3]!.changed(pk, 'storageUpdated');
    await untilTold(hook, 40);
    for (const [n, { pk }] of rooms.entries()) workers[(n + 1) % 3]!.changed(pk, 'storageUpdated'); // the rooms have moved
    await until(
      'all is noted',
      async () => (await db.query(sql`select 1 from webhook_changes where due_at is not null`)).length === 40,
    );
    expect(await countOf(hook)).toBe(40);
    await windowsEnded('1 minute');
    await Promise.all([...workers, ...workers].map((worker) => worker.tellDue()));
    expect(await countOf(hook)).toBe(80);
    expect(new Set((await told(db, hook)).slice(40).map(({ data }) => data.roomId)).size).toBe(40);
  });

  test('[WC5] what a worker noted that is gone is told by another, a little later', async () => {
    const hook = await aWatcher();
    const [gone, heir] = [aWorker('gone'), aWorker('heir')];
    gone.changed(room.pk, 'storageUpdated');
    await untilTold(hook, 1);
    gone.changed(room.pk, 'storageUpdated');
    await until('that is noted', isNoted);
    await windowsEnded('1 second');
    await heir.tellDue();
    expect(await countOf(hook)).toBe(1); // the worker that noted it may know of a later change
    await windowsEnded('3 seconds');
    await heir.tellDue();
    expect(await countOf(hook)).toBe(2);
  });

  test('[WC6] a webhook that comes later is told of the next change, whatever window the others are in', async () => {
    const first = await aWatcher();
    const worker = aWorker();
    worker.changed(room.pk, 'storageUpdated');
    await untilTold(first, 1);
    worker.changed(room.pk, 'storageUpdated');
    await until('that is noted', isNoted);
    await until('it is known to be noted', () => worker.writes === 2);
    const second = await aWatcher();
    worker.reconsider();
    worker.changed(room.pk, 'storageUpdated');
    await untilTold(second, 1);
    expect(await countOf(first)).toBe(1);
  });

  test('[WC7] nobody who is disabled, or wants other events, is told or noted for', async () => {
    const [off, others] = [await aWatcher(), await aHook(db)];
    await updateWebhook(db, off.id, { disabled: true });
    const worker = aWorker();
    worker.changed(room.pk, 'storageUpdated');
    await until('it has been looked at', () => worker.writes === 1);
    await worker.close();
    expect([await countOf(off), await countOf(others), await isNoted()]).toEqual([0, 0, false]);
  });

  test('[WC8] while the database is away changes wait, and are told when it is back', async () => {
    const hook = await aWatcher();
    let isAway = true;
    const away = meddled(db, (_, run) => (isAway ? Promise.reject(new Error('away')) : run()));
    const worker = new ChangeNotes({
      ...{ db: away, clock: systemClock, log: silentLog, projectId: 'p', workerName: 'w' },
      nudge: () => undefined,
    });
    notes.push(worker);
    worker.changed(room.pk, 'ydocUpdated');
    await new Promise((resolve) => setTimeout(resolve, 150));
    isAway = false;
    await untilTold(hook, 1);
  });

  /** A window of an hour has begun, and something waits for its end. */
  const aLongWait = async () => {
    const hook = await aWatcher({ storageThrottleS: 3_600, ydocThrottleS: 3_600 });
    const worker = aWorker();
    for (const event of ['storageUpdated', 'ydocUpdated'] as const) worker.changed(room.pk, event);
    await untilTold(hook, 2);
    for (const event of ['storageUpdated', 'ydocUpdated'] as const) worker.changed(room.pk, event);
    await until('both are noted', async () => (await isNoted()) && (await isNoted('ydocUpdated')));
    return { hook, worker };
  };

  test('[WC11] a window that is made shorter ends sooner, and no other does', async () => {
    const { hook, worker } = await aLongWait();
    const other = await aWatcher({ storageThrottleS: 3_600 });
    await updateWebhook(db, hook.id, { storageThrottleS: 1 });
    await until('that is told', async () => {
      await worker.tellDue();
      return (await countOf(hook)) === 3;
    });
    expect([await isNoted('storageUpdated'), await isNoted('ydocUpdated'), await countOf(other)]).toEqual([false, true, 0]);
    await updateWebhook(db, hook.id, { storageThrottleS: 3_600, ydocThrottleS: 3_600 });
    await worker.tellDue();
    expect(await countOf(hook)).toBe(3);
  });

  test('[WC11] what waited when a window was made shorter is told once its room changes again, if not before', async () => {
    const { hook, worker } = await aLongWait();
    await db.query(sql`update webhooks set storage_throttle_s = 1`); // and of so many that waits one has not been seen to
    worker.reconsider();
    worker.changed(room.pk, 'storageUpdated');
    await until('that is told', async () => {
      await worker.tellDue();
      return (await countOf(hook)) === 3;
    });
  });

  test('[WD15] what is due is found by an index, however much waits', async () => {
    const hook = await aWatcher();
    await db.query(sql`
      insert into rooms (id) select ${room.id} || n from generate_series(1, 20000) n`);
    await db.query(sql`
      insert into webhook_changes (webhook_pk, room_pk, event, changed_at, noted_by, due_at)
      select ${hook.pk}::bigint, pk, 'storageUpdated', now(), 'one', now() + interval '1 minute' from rooms where id like ${`${room.id}%`}`);
    await db.query(sql`analyze webhook_changes`);
    const plan = await planOf(db, (explaining) => takeDueChanges(explaining, { worker: 'one', limit: 200 }));
    expect(plan).toMatch(/webhook_changes_due .*\n +Index Cond: .*due_at <= statement_timestamp/);
  });

  test('[WC9] windows that are long over are forgotten', async () => {
    const hook = await aWatcher();
    const worker = aWorker();
    worker.changed(room.pk, 'storageUpdated');
    worker.changed(room.pk, 'ydocUpdated');
    await untilTold(hook, 2);
    await db.query(sql`update webhook_changes set told_at = now() - interval '3 hours' where event = 'ydocUpdated'`);
    expect([await deleteOldChanges(db, 10), await deleteOldChanges(db, 10)]).toEqual([1, 0]);
  });
});
