import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { markReadOf } from '../../../src/features/notifications/inbox/queries.ts';
import { noteNotifications, tellDueNotifications } from '../../../src/features/webhooks/notifications/queries.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { planOf } from '../../support/plan.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aHook, aRoom, told } from './hooks.ts';

const postgres = usePostgres();
const NOW = '2031-02-03T04:05:06.007Z';
let db: PostgresSql;
let room: { pk: number; id: string };
beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(async () => {
  await db.query(sql`truncate webhooks, webhook_deliveries, webhook_notifications, inbox_notifications cascade`);
  room = await aRoom(db);
});

let made = 0;
/** In the inbox of `bob`, and noted for webhooks. */
async function aNotification({
  kind = 'thread',
  about = { threadId: 'th_1' } as Record<string, string>,
  delayMs = -1,
} = {}): Promise<string> {
  const id = `in_${++made}`;
  const roomPk = kind.startsWith('$') ? null : room.pk;
  await db.query(sql`
    insert into inbox_notifications (id, user_id, kind, room_pk, subject_id, notified_at) values (${id}, 'bob', ${kind}, ${roomPk}, 'x', ${NOW})`);
  const roomId = roomPk === null ? null : room.id;
  await noteNotifications(
    db,
    [{ type: 'inbox.notified', notificationId: id, userId: 'bob', kind, roomId, at: NOW, about }],
    delayMs,
  );
  return id;
}
/** Something more happens to it. */
const noteAgain = (notificationId: string, delayMs: number) =>
  noteNotifications(
    db,
    [{ type: 'inbox.notified', notificationId, userId: 'bob', kind: 'thread', roomId: room.id, at: NOW, about: {} }],
    delayMs,
  );
/** In how many milliseconds each that waits is due. */
const waiting = async () =>
  (
    await db.query(sql<{ inMs: number }>`
      select (extract(epoch from due_at - now()) * 1000)::float8 as "inMs" from webhook_notifications`)
  ).map(({ inMs }) => inMs);
const aListener = () => aHook(db, { subscribedEvents: ['notification'] });
const tell = (channels: readonly string[] = ['email']) =>
  tellDueNotifications(db, 10, { projectId: 'p', nowIso: () => NOW, findChannels: async () => channels });

test('[WN1] what is unread when it is due is told once by each channel that its user wants', async () => {
  const hook = await aListener();
  const id = await aNotification();
  expect([await tell(['email', 'slack']), await tell(['email', 'slack'])]).toEqual([1, 0]);
  const data = { projectId: 'p', roomId: room.id, kind: 'thread', userId: 'bob', threadId: 'th_1', inboxNotificationId: id };
  expect(await told(db, hook)).toEqual(
    ['email', 'slack'].map((channel) => ({ type: 'notification', data: { ...data, channel, createdAt: NOW, triggeredAt: NOW } })),
  );
});

test('[WN1] of a mention and of a custom kind, with what they are about', async () => {
  const hook = await aListener();
  await aNotification({ kind: 'textMention', about: { mentionId: 'in_m' } });
  await aNotification({ kind: '$alert', about: { subjectId: 's' } });
  await tell();
  expect((await told(db, hook)).map(({ data }) => [data.kind, data.mentionId, data.subjectId, data.roomId])).toEqual([
    ['textMention', 'in_m', undefined, room.id],
    ['$alert', undefined, 's', null],
  ]);
});

test('[WN2] what was read or deleted meanwhile is not told; what came after it was read is', async () => {
  const hook = await aListener();
  const [read, gone, anew] = [await aNotification(), await aNotification(), await aNotification()];
  await db.query(sql`update inbox_notifications set read_at = now() + interval '9 years' where id = ${read}`);
  await db.query(sql`delete from inbox_notifications where id = ${gone}`);
  await db.query(sql`update inbox_notifications set read_at = ${NOW}::timestamptz - interval '1 second' where id = ${anew}`);
  expect(await tell()).toBe(2); // what is read is gone before
  expect((await told(db, hook)).map(({ data }) => data.inboxNotificationId)).toEqual([anew]);
});

test('[WN3] it waits; what happens to it meanwhile is told with it', async () => {
  const hook = await aListener();
  const id = await aNotification({ delayMs: 60_000 });
  expect(await tell()).toBe(0);
  await noteAgain(id, 120_000);
  const [inMs = 0, ...more] = await waiting();
  expect([inMs <= 60_000, more]).toEqual([true, []]);
  await db.query(sql`update webhook_notifications set due_at = now()`);
  expect(await tell()).toBe(1);
  expect(await told(db, hook)).toHaveLength(1);
});

test('[WN5] what was read waits no more, and nothing that came before; what comes after waits anew', async () => {
  await aListener();
  const id = await aNotification({ delayMs: 60_000 });
  await markReadOf(db, { userId: 'bob', organizationId: 'default' }, [id]);
  expect(await waiting()).toEqual([]);
  await noteAgain(id, 60_000); // written before it was read, and taken later
  expect(await waiting()).toEqual([]);
  await db.query(sql`update inbox_notifications set read_at = null where id = ${id}`);
  await noteAgain(id, 120_000);
  const [inMs = 0, ...more] = await waiting();
  expect([inMs > 60_000, more]).toEqual([true, []]);
});

test('[WN4] nothing waits while no webhook wants it, and two workers tell each once', async () => {
  await aHook(db);
  await aNotification();
  expect(await tell()).toBe(0);
  const hook = await aListener();
  for (let n = 0; n < 30; n += 1) await aNotification();
  await Promise.all([tell(), tell(), tell(), tell()]);
  expect(new Set((await told(db, hook)).map(({ data }) => data.inboxNotificationId)).size).toBe(30);
  expect(await told(db, hook)).toHaveLength(30);
});

test('[WD15] what is due is found by an index, however much waits', async () => {
  await db.query(sql`
    insert into webhook_notifications (notification_id, user_id, kind, about, due_at)
    select 'waits_' || n, 'bob', 'thread', '{}', now() + interval '1 hour' from generate_series(1, 20000) n`);
  await db.query(sql`analyze webhook_notifications`);
  const deps = { projectId: 'p', nowIso: () => NOW, findChannels: async () => [] };
  const plan = await planOf(db, (explaining) => tellDueNotifications(explaining, 10, deps));
  expect(plan).toMatch(/webhook_notifications_due .*\n +Index Cond: .*due_at <= statement_timestamp/);
});
