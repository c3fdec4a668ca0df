import { beforeEach, describe, expect, test } from 'vitest';
import { asRoomId } from '../../../../src/base/ids.ts';
import {
  addNotification,
  addToBatch,
  countUnread,
  deleteForgotten,
  deleteNotifications,
  findDeletedInboxSince,
  findInboxOfThreads,
  findInboxSince,
  findNotification,
  findNotificationsOfThread,
  findRoomsChangedSince,
  findRoomsOfUnread,
  findThreadPk,
  type InboxScope,
  listInbox,
  lookAhead,
  markRead,
  markReadOf,
  type NewActivity,
} from '../../../../src/features/notifications/inbox/queries.ts';
import { documentOf, filterOf, type InboxRow } from '../../../../src/features/notifications/inbox/rules.ts';
import { type Sql, sql } from '../../../../src/kernel/persistence/sql.ts';
import { addManyRooms, planOf } from '../../../support/plan.ts';
import { usePostgres } from '../../../support/postgres.ts';
import { type MadeRoom, type MadeThread, makeRoom, makeThread } from '../a-thread.ts';

const db: Sql = await usePostgres().open();
let room: MadeRoom;
let made = 0;
/** Nobody else's: each test has people of its own. */
let bob: string;

beforeEach(async () => {
  room = await makeRoom(db);
  bob = `bob ${++made}`;
});

const isoAt = (second: number) => new Date(Date.UTC(2031, 1, 3, 4, 5, second)).toISOString();
const activity = (over: Partial<NewActivity> = {}): NewActivity => ({
  notificationId: `in_${++made}`,
  activityId: `act_${made}`,
  userId: bob,
  organizationId: 'default',
  kind: '$ring',
  subjectId: 's',
  roomPk: null,
  data: { n: made },
  nowIso: isoAt(0),
  ...over,
});
const ring = (over: Partial<NewActivity> = {}) => db.transaction((tx) => addNotification(tx, activity(over)));
const ringInBatch = (over: Partial<NewActivity> = {}) => db.transaction((tx) => addToBatch(tx, activity(over)));
/** A notification of a thread, as the consumer writes it. */
async function news(of: MadeThread, { at = isoAt(0), userId = bob } = {}): Promise<string> {
  const id = `in_${++made}`;
  await db.query(sql`
    insert into inbox_notifications (id, user_id, organization_id, kind, room_pk, thread_pk, subject_id, notified_at)
    values (${id}, ${userId}, 'default', 'thread', ${of.room.pk}, ${of.pk}, ${of.id}, ${at})`);
  return id;
}
const scope = (over: Partial<InboxScope> = {}): InboxScope => ({
  userId: bob,
  organizationId: null,
  filter: filterOf(undefined, 'client'),
  readable: null,
  ...over,
});
const list = (over: Partial<InboxScope> = {}) => listInbox(db, scope(over), { after: null, limit: 100 });
const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
const changedIn = async (of: InboxScope, sinceMs = Date.now() - 60_000) =>
  idsOf((await findInboxSince(db, of, sinceMs)).inboxNotifications);
const where = (query: string) => ({ filter: filterOf(query, 'client') });
const readAtOf = async (id: string) => (await findNotification(db, { id, userId: bob }))!.readAt;

describe('lists', () => {
  test('[IB10] the latest comes first; a page goes on where the last ended, also between two of one moment', async () => {
    const ids = [];
    for (const second of [1, 2, 2, 3]) ids.unshift(await ring({ nowIso: isoAt(second) }));
    expect(idsOf(await list())).toEqual(ids);
    const seen: string[] = [];
    let after = null;
    for (let page = 0; page < 4; page += 1) {
      const rows: InboxRow[] = await listInbox(db, scope(), { after, limit: 1 });
      seen.push(...idsOf(rows));
      after = { atMs: Date.parse(rows[0]!.notifiedAt), pk: rows[0]!.pk };
    }
    expect(seen).toEqual(ids);
    expect(await listInbox(db, scope(), { after, limit: 1 })).toEqual([]);
  });

  test('[IB11] by room, kind, and whether it is read', async () => {
    const thread = await makeThread(db, room);
    const ofThread = await news(thread);
    const inRoom = await ring({ roomPk: room.pk });
    const read = await ring({ kind: '$other' });
    await markRead(db, read);
    expect(idsOf(await list(where(`roomId:"${room.id}"`)))).toEqual([inRoom, ofThread]);
    expect(idsOf(await list(where(`roomId:"${room.id}" kind:"thread"`)))).toEqual([ofThread]);
    expect(idsOf(await list(where('unread:true')))).toEqual([inRoom, ofThread]);
    expect(idsOf(await list(where('unread:false')))).toEqual([read]);
    expect(idsOf(await list(where('kind:"a" kind:"b"')))).toEqual([]);
    expect(await countUnread(db, scope())).toBe(2);
    expect(await countUnread(db, scope(where('kind:"$ring"')))).toBe(1);
  });

  test('[IB12] of an organisation: that of its room, wherever that has moved, else its own', async () => {
    const acme = await makeRoom(db, { organizationId: 'acme' });
    const inAcme = await news(await makeThread(db, acme));
    const ofAcme = await ring({ organizationId: 'acme' });
    const other = await news(await makeThread(db, room));
    const of = async (organizationId: string | null) => idsOf(await list({ organizationId })).sort();
    expect(await of('acme')).toEqual([inAcme, ofAcme].sort());
    expect(await of('default')).toEqual([other]);
    expect(await of(null)).toHaveLength(3);
    expect((await findNotification(db, { id: inAcme, userId: bob }))!.organizationId).toBe('acme');
    await db.query(sql`update rooms set organization_id = 'moved' where pk = ${acme.pk}`);
    expect([await of('acme'), await of('moved')]).toEqual([[ofAcme], [inAcme]]);
  });

  test('[IB13] what may not be read is in no list, count or delta; custom ones always are', async () => {
    const publicly = await news(await makeThread(db, room));
    const privately = await news(await makeThread(db, room, 'private'));
    const custom = await ring({ roomPk: room.pk });
    await db.query(sql`
      insert into inbox_notifications (id, user_id, kind, room_pk, subject_id, notified_at) values (${`in_t${++made}`}, ${bob}, 'textMention', ${room.pk}, 'm', now())`);
    const text = `in_t${made}`;
    const pks = [room.pk];
    const seen = async (readable: Partial<NonNullable<InboxScope['readable']>>) => {
      const all = { readable: { publicIn: [], privateIn: [], textsIn: [], ...readable } };
      const ids = idsOf(await list(all)).sort();
      expect((await changedIn(scope(all), 0)).sort()).toEqual(ids);
      expect(await countUnread(db, scope(all))).toBe(ids.length);
      return ids;
    };
    expect(await seen({})).toEqual([custom]);
    expect(await seen({ publicIn: pks })).toEqual([custom, publicly].sort());
    expect(await seen({ privateIn: pks })).toEqual([custom, privately].sort());
    expect(await seen({ textsIn: pks })).toEqual([custom, text].sort());
    expect(await seen({ publicIn: pks, privateIn: pks, textsIn: pks })).toHaveLength(4);
    const found = {
      pk: room.pk,
      id: room.id,
      organizationId: 'default',
      accesses: { defaultAccesses: ['*:write'], usersAccesses: {}, groupsAccesses: {} },
    };
    expect(await lookAhead(db, scope({ organizationId: 'default' }), null)).toEqual({ rooms: [found], to: null });
    expect(await findRoomsOfUnread(db, scope({ organizationId: 'default' }))).toEqual([found]);
    expect(await findRoomsChangedSince(db, { userId: bob, organizationId: 'default' }, Date.now() - 60_000)).toEqual([found]);
    expect((await lookAhead(db, scope({ organizationId: 'acme' }), null)).rooms).not.toContainEqual(found);
    expect(await findRoomsOfUnread(db, scope({ organizationId: 'acme' }))).toEqual([]);
    expect(await findRoomsChangedSince(db, { userId: bob, organizationId: 'acme' }, 0)).toEqual([]);
  });
});

describe('rooms of an inbox', () => {
  const person = () => ({ userId: bob, organizationId: 'default' });
  const roomsSince = async (sinceMs = Date.now() - 60_000) =>
    (await findRoomsChangedSince(db, person(), sinceMs)).map(({ pk }) => pk).sort();
  const longAgo = (table: 'threads' | 'inbox_notifications') =>
    db.query(sql`update ${{ text: table, values: [] }} set changed_at = now() - interval '1 day' where room_pk = ${room.pk}`);

  test('[IB26] a delta reads those alone of which there may be something to tell', async () => {
    const [thread, quiet] = [await makeThread(db, room), await makeRoom(db)];
    await news(await makeThread(db, quiet));
    await db.query(sql`update threads set changed_at = now() - interval '1 day' where room_pk = ${quiet.pk}`);
    await db.query(sql`update inbox_notifications set changed_at = now() - interval '1 day' where room_pk = ${quiet.pk}`);
    const id = await news(thread);
    expect([await roomsSince(Date.now() - 172_800_000), await roomsSince()]).toEqual([[room.pk, quiet.pk].sort(), [room.pk]]);
    await longAgo('inbox_notifications');
    expect(await roomsSince()).toEqual([room.pk]); // for its thread
    await longAgo('threads');
    expect(await roomsSince()).toEqual([]);
    const whatElse = [
      sql`insert into thread_subscriptions (thread_pk, user_id) values (${thread.pk}, ${bob})`,
      sql`insert into room_subscription_settings (room_pk, user_id, threads) values (${room.pk}, ${bob}, 'all')`,
      sql`insert into deleted_threads (room_pk, id, visibility, user_ids) values (${room.pk}, 'th', 'public', '{}')`,
    ];
    for (const change of whatElse) {
      await db.query(change);
      expect(await roomsSince()).toEqual([room.pk]);
      await db.query(sql`delete from thread_subscriptions where user_id = ${bob}`);
      await db.query(sql`delete from room_subscription_settings where user_id = ${bob}`);
      await db.query(sql`delete from deleted_threads where room_pk = ${room.pk}`);
      expect(await roomsSince()).toEqual([]);
    }
    await deleteNotifications(db, { ...person(), id });
    expect(await roomsSince()).toEqual([room.pk]);
  });

  test('[IB26] a delta looks its rooms up, however many others there are', async () => {
    await addManyRooms(db);
    const delta = await planOf(db, (explaining) => findRoomsChangedSince(explaining, person(), 0));
    expect(delta).toContain('Index Cond: (pk = ANY');
  });

  test('[IB26] a count reads those of what is unread', async () => {
    const ids = [await news(await makeThread(db, room)), await news(await makeThread(db, await makeRoom(db)))];
    await markReadOf(db, person(), [ids[1]!]);
    expect((await findRoomsOfUnread(db, scope())).map(({ pk }) => pk)).toEqual([room.pk]);
  });
});

describe('reading', () => {
  test('[IB14] what is read again keeps its time; another`s is not touched, nor is one of another organisation', async () => {
    const mine = await ring();
    const acme = await ring({ organizationId: 'acme' });
    const theirs = await ring({ userId: 'else' });
    await markReadOf(db, { userId: bob, organizationId: 'default' }, [mine, acme, theirs, 'in_none']);
    expect([await readAtOf(mine), await readAtOf(acme)]).toEqual([expect.any(String), null]);
    const at = isoAt(59);
    await db.query(sql`update inbox_notifications set read_at = ${at} where id = ${mine}`);
    expect((await findNotification(db, { id: theirs, userId: 'else' }))!.readAt).toBeNull();
    expect(await markRead(db, mine)).toBe(true);
    await markReadOf(db, { userId: bob, organizationId: 'default' }, 'all');
    expect(await readAtOf(mine)).toBe(at);
    expect(await markRead(db, acme)).toBe(true);
    expect(await readAtOf(acme)).not.toBeNull();
    expect(await markRead(db, 'in_none')).toBe(false);
  });

  test('[IB14] it is read no earlier than it was notified', async () => {
    const id = await ring({ nowIso: '2099-01-01T00:00:00.000Z' });
    await markRead(db, id);
    expect(await readAtOf(id)).toBe('2099-01-01T00:00:00.000Z');
  });
});

describe('deleting', () => {
  const deletedSince = (sinceMs: number, over: { roomId?: string | null; organizationId?: string } = {}) =>
    findDeletedInboxSince(db, { userId: bob, organizationId: 'default', roomId: null, sinceMs, ...over });
  const deletedOf = async (over: Parameters<typeof deletedSince>[1] = {}) =>
    (await deletedSince(Date.now() - 60_000, over)).deletedInboxNotifications;

  test('[IB15] one, or all, of one organisation or of all; others` are not touched', async () => {
    const [one, two] = [await ring(), await ring()];
    const acme = await ring({ organizationId: 'acme' });
    await ring({ userId: `other ${bob}` });
    const gone = (id: string | null, organizationId: string | null, userId = bob) =>
      deleteNotifications(db, { userId, organizationId, id });
    expect([await gone(one, null, 'else'), await gone(one, 'acme'), await gone(one, 'default'), await gone(one, null)]).toEqual([
      0, 0, 1, 0,
    ]);
    expect([await gone(null, 'default'), idsOf(await list())]).toEqual([1, [acme]]);
    expect([await gone(null, null), await list()]).toEqual([1, []]);
    expect(idsOf(await list({ userId: `other ${bob}` }))).toHaveLength(1);
    expect((await deletedOf()).map(({ id }) => id).sort()).toEqual([one, two].sort());
    expect(idsOf(await deletedOf({ organizationId: 'acme' }))).toEqual([acme]);
  });

  test('[IB29] all of a large inbox is read, and deleted, some at a time, each once', async () => {
    await db.query(sql`
      insert into inbox_notifications (id, user_id, kind, subject_id, notified_at)
      select ${bob} || n, ${bob}, '$ring', 's', now() - (n / 2) * interval '1 second' from generate_series(1, 20001) n`);
    const changed: number[] = [];
    const counting: Sql = {
      ...db,
      query: (query) => db.query(query),
      change: async (query) => changed[changed.push(await db.change(query)) - 1]!,
    };
    await markReadOf(counting, { userId: bob, organizationId: 'default' }, 'all');
    expect(await deleteNotifications(counting, { userId: bob, organizationId: null, id: null })).toBe(20_001);
    expect(changed).toEqual([10_000, 10_000, 1, 10_000, 10_000, 1]);
    expect(await list()).toEqual([]);
  });

  test('[IB16] what goes with its thread or room is told of as deleted, in its organisation', async () => {
    const acme = await makeRoom(db, { organizationId: 'acme' });
    const thread = await makeThread(db, acme);
    const other = await makeRoom(db);
    const ofThread = await news(thread);
    const ofRoom = await news(await makeThread(db, other));
    await db.query(sql`delete from threads where pk = ${thread.pk}`);
    await db.query(sql`delete from rooms where pk = ${other.pk}`);
    const entry = (id: string, roomId?: string) => ({
      type: 'deletedInboxNotification',
      id,
      deletedAt: expect.any(String),
      ...(roomId && { roomId }),
    });
    expect(await deletedOf({ organizationId: 'acme' })).toEqual([entry(ofThread, acme.id)]);
    expect(await deletedOf({ organizationId: 'acme', roomId: acme.id })).toEqual([entry(ofThread, acme.id)]);
    expect(await deletedOf({ organizationId: 'acme', roomId: other.id })).toEqual([]);
    expect(await deletedOf()).toEqual([entry(ofRoom)]);
    const later = await deletedSince(Date.now() + 60_000, { organizationId: 'acme' });
    expect(later).toEqual({ deletedInboxNotifications: [], leftOutMs: null });
  });

  test('[IB28] of more deleted ones than an answer has those that went first are told, and the next answer begins where it ended', async () => {
    await db.query(sql`
      insert into inbox_notifications (id, user_id, kind, subject_id, notified_at)
      select ${`in_${bob}_`} || n, ${bob}, '$x', 's', now() - n * interval '1 minute' from generate_series(1, 6000) n`);
    await deleteNotifications(db, { userId: bob, organizationId: 'default', id: null });
    const told = new Set<string>();
    let sinceMs = Date.now() - 60_000;
    for (let answers = 1; ; answers += 1) {
      const { deletedInboxNotifications, leftOutMs } = await deletedSince(sinceMs);
      for (const { id } of deletedInboxNotifications) told.add(id);
      expect(deletedInboxNotifications.length).toBeLessThanOrEqual(5_000);
      if (leftOutMs === null) break;
      expect(answers).toBeLessThan(20);
      sinceMs = leftOutMs;
    }
    expect(told.size).toBe(6_000);
  });
});

test('[IB17] what was deleted a month ago is forgotten, some at a time', async () => {
  const old = [await ring(), await ring(), await ring()];
  const fresh = await ring();
  await deleteNotifications(db, { userId: bob, organizationId: null, id: null });
  await db.query(sql`
    update deleted_inbox_notifications set deleted_at = now() - interval '31 days' where id = any(${old}::text[])`);
  expect([await deleteForgotten(db, 2), await deleteForgotten(db, 2), await deleteForgotten(db, 2)]).toEqual([2, 1, 0]);
  const left = await db.query(sql<{ id: string }>`select id from deleted_inbox_notifications where user_id = ${bob}`);
  expect(idsOf(left)).toEqual([fresh]);
});

describe('a batch', () => {
  test('[IB18] gathers 50 activities on one subject, oldest first, moves up and becomes unread; the 51st begins another', async () => {
    const first = await ringInBatch({ nowIso: isoAt(0) });
    await markRead(db, first);
    for (let n = 1; n < 50; n += 1) expect(await ringInBatch({ nowIso: isoAt(n) })).toBe(first);
    const row = (await findNotification(db, { id: first, userId: bob }))!;
    expect([row.readAt, row.notifiedAt, row.details.activities!.length]).toEqual([null, isoAt(49), 50]);
    expect(row.details.activities!.map(({ createdAt }) => createdAt)).toEqual(Array.from({ length: 50 }, (_, n) => isoAt(n)));
    const second = await ringInBatch({ nowIso: isoAt(50) });
    expect(second).not.toBe(first);
    expect(await ringInBatch({ nowIso: isoAt(51) })).toBe(second);
    expect(idsOf(await list())).toEqual([second, first]);
  });

  test('[IB19] of another user, kind, subject, room or organisation is another', async () => {
    const ids = new Set([await ringInBatch()]);
    for (const over of [
      { userId: `${bob}!` },
      { kind: '$other' },
      { subjectId: 't' },
      { roomPk: room.pk },
      { organizationId: 'acme' },
    ])
      ids.add(await ringInBatch(over));
    expect(ids.size).toBe(6);
  });

  test('[IB24] goes on when its room has moved to another organisation', async () => {
    const first = await ringInBatch({ roomPk: room.pk });
    await db.query(sql`update rooms set organization_id = 'moved' where pk = ${room.pk}`);
    expect(await ringInBatch({ roomPk: room.pk, organizationId: 'moved' })).toBe(first);
  });

  test('[IB20] of many activities at once each is in it once', async () => {
    const ids = await Promise.all(Array.from({ length: 20 }, () => ringInBatch()));
    expect(new Set(ids).size).toBe(1);
    const [row] = await list();
    const seen = row!.details.activities!.map(({ data }) => data.n);
    expect(new Set(seen).size).toBe(20);
  });
});

describe('of threads', () => {
  test('[IB21] what a user was told of threads, and all users of one thread', async () => {
    const [here, hidden, there] = [
      await makeThread(db, room),
      await makeThread(db, room, 'private'),
      await makeThread(db, await makeRoom(db)),
    ];
    const ids = [await news(here), await news(hidden), await news(there)];
    const theirs = await news(here, { userId: `${bob}!` });
    const found = await findInboxOfThreads(db, { userId: bob, threadPks: [here.pk, there.pk] });
    expect(idsOf(found).sort()).toEqual([ids[0], ids[2]].sort());
    expect(found[0]).toEqual(documentOf((await findNotification(db, { id: found[0]!.id, userId: bob }))!));
    expect(idsOf(await findNotificationsOfThread(db, here.pk))).toEqual([ids[0], theirs]);
    const lookUp = (roomId: string, threadId: string) => findThreadPk(db, { roomId: asRoomId(roomId), threadId });
    expect([await lookUp(room.id, here.id), await lookUp(room.id, there.id), await lookUp('none', here.id)]).toEqual([
      here.pk,
      null,
      'no room',
    ]);
  });

  test('[IB22] what was read has changed, too', async () => {
    const id = await news(await makeThread(db, room));
    await db.query(sql`update inbox_notifications set changed_at = now() - interval '1 hour' where id = ${id}`);
    const since = () => changedIn(scope());
    expect(await since()).toEqual([]);
    await markReadOf(db, { userId: bob, organizationId: 'default' }, [id]);
    expect(await since()).toEqual([id]);
  });

  test('[IB27] of more changes than an answer has the earliest are told, whatever was there first, and when the next was made', async () => {
    const isAt = (n: number) => new Date(Date.UTC(2031, 1, 3) + n * 1_000).toISOString();
    await db.query(sql`
      insert into inbox_notifications (id, user_id, kind, subject_id, notified_at, changed_at)
      select 'in_many_' || n, ${bob}, '$ring', 's', now(), ${isAt(1_001)}::timestamptz - n * interval '1 second' from generate_series(0, 1001) n`);
    const since = async (sinceMs: number) => {
      const { inboxNotifications, leftOutMs } = await findInboxSince(db, scope(), sinceMs);
      return { ids: idsOf(inboxNotifications), leftOutMs };
    };
    const first = await since(0);
    expect([first.ids.length, first.ids[0], first.leftOutMs]).toEqual([1_000, 'in_many_1001', Date.parse(isAt(1_000))]);
    expect(await since(first.leftOutMs!)).toEqual({ ids: ['in_many_1', 'in_many_0'], leftOutMs: null });
  });
});
