import { expect, test } from 'vitest';
import { asRoomId, type RoomId } from '../../../src/base/ids.ts';
import { deleteNotifications, markReadOf } from '../../../src/features/notifications/inbox/queries.ts';
import { emptyAhead } from '../../../src/features/rooms/emptying/queries.ts';
import { deleteRoom, findOrCreateRoom } from '../../../src/features/rooms/queries.ts';
import { type Query, type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { until } from '../../support/e2e/until.ts';
import { usePostgres } from '../../support/postgres.ts';

const postgres = usePostgres();

/** A room of so many threads with so many comments and notifications each. */
async function roomOf(db: Sql, id: RoomId, { threads, each }: { threads: number; each: number }): Promise<void> {
  const fields = { organizationId: 'default', metadata: {}, defaultAccesses: [], usersAccesses: {}, groupsAccesses: {} };
  const { room } = await findOrCreateRoom(db, { id, nowIso: '2031-02-03T04:05:06.007Z', ...fields });
  await db.change(sql`
    insert into threads (room_pk, id, created_by, created_at, updated_at, visibility, comment_count)
    select ${room.pk}, 'th_' || n, 'mia', now() + n * interval '1 second', now(), 'public', ${each} from generate_series(1, ${threads}) n`);
  await db.change(sql`
    insert into comments (thread_pk, id, user_id, created_at, body, content, has_mentions)
    select pk, 'cm_' || n, 'mia', now(), '{}', '', false from threads, generate_series(1, ${each}) n where room_pk = ${room.pk}`);
  await db.change(sql`
    insert into inbox_notifications (id, user_id, kind, room_pk, thread_pk, subject_id, notified_at)
    select 'in_' || pk || '_' || n, 'user' || n, 'thread', room_pk, pk, id, now() from threads, generate_series(1, ${each}) n where room_pk = ${room.pk}`);
}

/** Notes how many threads each statement deletes. */
async function noteDeletions(db: Sql): Promise<() => Promise<number[]>> {
  await db.query(sql`create table deletions (place serial, threads integer)`);
  await db.query(sql`
    create function note_deletion() returns trigger language plpgsql as $$
    begin insert into deletions (threads) select count(*) from gone; return null; end $$`);
  await db.query(sql`
    create trigger note_deletion after delete on threads referencing old table as gone for each statement execute function note_deletion()`);
  return async () => {
    const rows = await db.query(sql<{ threads: number }>`select threads from deletions where threads > 0 order by place`);
    return rows.map(({ threads }) => threads);
  };
}

const left = async (db: Sql) => {
  const [counts] = await db.query(sql<Record<'threads' | 'comments' | 'notified', number>>`
    select (select count(*)::int from threads) as threads, (select count(*)::int from comments) as comments,
           (select count(*)::int from inbox_notifications) as notified`);
  return counts;
};

test('[RM75] A room of many threads is emptied ahead of its deletion, the oldest first, a bounded number of rows in a statement; one of few goes at once', async () => {
  const db = await postgres.open();
  const deletions = await noteDeletions(db);
  const [many, few] = [asRoomId('many'), asRoomId('few')];
  await roomOf(db, few, { threads: 40, each: 20 });
  await emptyAhead(db, few);
  expect(await left(db)).toEqual({ threads: 40, comments: 800, notified: 800 });

  await roomOf(db, many, { threads: 2_300, each: 1 });
  await roomOf(db, asRoomId('long'), { threads: 7, each: 2_000 });
  const before = await left(db);
  await emptyAhead(db, many);
  expect(await deletions()).toEqual([1_429]); // of 5 + 1 + 1 rows each: 10,003; the other 871 go with their room
  const [oldest] = await db.query(sql<{ id: string }>`
    select id from threads where room_pk = (select pk from rooms where id = 'many') order by created_at limit 1`);
  expect(oldest!.id).toBe('th_1430');
  await emptyAhead(db, asRoomId('long'));
  expect(await deletions()).toEqual([1_429, 3, 3]); // of 4,005 rows each; the last goes with its room
  await emptyAhead(db, asRoomId('nobody'));

  for (const id of [many, asRoomId('long')]) await deleteRoom(db, id);
  expect(before).toEqual({ threads: 2_347, comments: 17_100, notified: 17_100 });
  expect(await left(db)).toEqual({ threads: 40, comments: 800, notified: 800 });
});

test('[RM78] what a room has many of beside threads goes ahead of it, too, and leaves what is to be known of it', async () => {
  const db = await postgres.open();
  const id = asRoomId('full');
  await roomOf(db, id, { threads: 0, each: 0 });
  const many = 10_400;
  const tables: Record<string, Query> = {
    inbox_notifications: sql`
      insert into inbox_notifications (id, user_id, kind, room_pk, subject_id, notified_at)
      select 'in_' || n, 'user' || n, '$due', pk, 's' || n, now() from rooms, generate_series(1, ${many}) n`,
    files: sql`
      insert into files (room_pk, id, name, size, mime_type, blob_key)
      select pk, 'fl_' || n, 'a.txt', 1, 'text/plain', 'file-' || n from rooms, generate_series(1, ${many}) n`,
    attachments: sql`
      insert into attachments (room_pk, id, user_id, name, size, mime_type, blob_key)
      select pk, 'at_' || n, 'mia', 'a.txt', 1, 'text/plain', 'attachment-' || n from rooms, generate_series(1, ${many}) n`,
    versions: sql`
      insert into versions (room_pk, id, created_at, authors, size, sha256, blob_key)
      select pk, 'vh_' || n, now(), '[]', 1, '', 'version-' || n from rooms, generate_series(1, ${many}) n`,
    room_subscription_settings: sql`
      insert into room_subscription_settings (room_pk, user_id) select pk, 'user' || n from rooms, generate_series(1, ${many}) n`,
    feeds: sql`
      insert into feeds (room_pk, id, created_at, updated_at) select pk, 'feed' || n, now(), now() from rooms, generate_series(1, ${many}) n`,
    feed_messages: sql`
      insert into feed_messages (room_pk, feed_pk, id, data, created_at, updated_at)
      select room_pk, pk, 'message' || n, '{}', now(), now() from feeds, generate_series(1, ${many}) n where id = 'feed' || ${many}::int`,
    room_readers: sql`
      insert into room_readers (room_pk, user_id, reads_public, reads_private)
      select pk, 'user' || n, true, true from rooms, generate_series(1, ${many}) n`,
  };
  for (const insert of Object.values(tables)) await db.change(insert);
  const counts = async () => {
    const names = [...Object.keys(tables), 'loose_blobs', 'deleted_inbox_notifications'];
    const [row] = await db.query(sql<{ counts: Record<string, number> }>`
      select jsonb_object_agg(name, (xpath('/row/n/text()', query_to_xml('select count(*) as n from ' || name, false, true, '')))[1]::text::int) as counts
        from unnest(${names}::text[]) as name`);
    return row!.counts;
  };
  const each = (count: number) => Object.fromEntries(Object.keys(tables).map((name) => [name, count]));
  await emptyAhead(db, id);
  expect(await counts()).toEqual({ ...each(400), loose_blobs: 30_000, deleted_inbox_notifications: 10_000 });
  await deleteRoom(db, id);
  expect(await counts()).toEqual({ ...each(0), loose_blobs: 31_200, deleted_inbox_notifications: 10_400 });
});

test('[RM79] of large versions fewer go together, the oldest first', async () => {
  const db = await postgres.open();
  const id = asRoomId('large');
  await roomOf(db, id, { threads: 0, each: 0 });
  await db.change(sql`
    insert into versions (room_pk, id, created_at, authors, size, sha256, bytes)
    select pk, 'vh_' || n, now() - n * interval '1 minute', '[]', 250000, '', convert_to(repeat('x', 250000), 'utf8') from rooms, generate_series(1, 210) n`);
  const versions = async () =>
    (await db.query(sql<{ id: string }>`select id from versions order by created_at desc`)).map((row) => row.id);
  await emptyAhead(db, id);
  expect(await versions()).toEqual(Array.from({ length: 13 }, (_, n) => `vh_${n + 1}`)); // each weighs 51
  await emptyAhead(db, id);
  expect(await versions()).toHaveLength(13);
});

test('[RM76] who empties a room waits for whoever reads or deletes all of an inbox, or deletes the room, and they for it, but none for ever', async () => {
  const db = await postgres.open({ lockMsMax: 10_000 });
  const user1 = { userId: 'user1', organizationId: 'default' };
  const others: Record<string, (id: RoomId) => Promise<unknown>> = {
    'reads all': () => markReadOf(db, user1, 'all'),
    'deletes all': () => deleteNotifications(db, { ...user1, id: null }),
    'deletes the room': (id) => deleteRoom(db, id),
    'empties it, too': (id) => emptyAhead(db, id),
  };
  const waiting = sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  for (const [what, act] of Object.entries(others)) {
    const id = asRoomId(what);
    await roomOf(db, id, { threads: 7, each: 2 });
    await db.change(sql`update threads set id = 'turned_' || (9 - substr(id, 4)::int) where comment_count = 2`); // the oldest have the last ids
    await db.change(sql`update inbox_notifications n set subject_id = t.id from threads t where t.pk = n.thread_pk`);
    await db.change(sql`update threads set comment_count = 3000`);
    const meeting: Promise<unknown>[] = [];
    await db.transaction(async (tx) => {
      await tx.query(sql`select from inbox_notifications where user_id = 'user2' and subject_id = 'turned_7' for update`);
      meeting.push(emptyAhead(db, id));
      await until('it waits', async () => (await db.query(waiting)).length > 0);
      meeting.push(act(id));
      await until('both wait', async () => (await db.query(waiting)).length > 1);
    });
    await Promise.all(meeting);
    await deleteRoom(db, id);
  }
});
