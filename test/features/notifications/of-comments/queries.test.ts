import { beforeEach, describe, expect, test } from 'vitest';
import { pause, systemClock, systemRandom } from '../../../../src/base/clock.ts';
import { asRoomId, newId } from '../../../../src/base/ids.ts';
import { silentLog } from '../../../../src/base/observe.ts';
import { createGroup } from '../../../../src/features/notifications/groups/queries.ts';
import { deleteNotifications, markReadOf } from '../../../../src/features/notifications/inbox/queries.ts';
import { notifyOfComments } from '../../../../src/features/notifications/of-comments/queries.ts';
import type { ThreadsSetting } from '../../../../src/features/notifications/of-comments/rules.ts';
import { ReaderNotes } from '../../../../src/features/notifications/readers/queries.ts';
import { changeRoomSettings } from '../../../../src/features/notifications/settings/queries.ts';
import { type Sql, sql } from '../../../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../../../src/kernel/persistence/sql-outbox.ts';
import type { AppEvent } from '../../../../src/protocol/app-events.ts';
import { permissionsOf } from '../../../../src/protocol/permissions.ts';
import { until } from '../../../support/e2e/until.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { usePostgres } from '../../../support/postgres.ts';
import { meddled } from '../../../support/streams.ts';
import { type MadeThread, makeComment, makeRoom, makeThread, say } from '../a-thread.ts';

const db: Sql = await usePostgres().open();
const outbox = new SqlOutbox({ db, clock: systemClock, log: silentLog });
let thread: MadeThread;
/** Of no row in the outbox. */
let events = 5_000_000;

beforeEach(async () => {
  thread = await makeThread(db, await makeRoom(db));
});

const newNotificationId = () => newId(systemRandom, 'in_');
function eventOf(of: MadeThread, commentId: string, over: Partial<AppEvent> = {}): AppEvent {
  const { id: threadId, visibility, room } = of;
  const at = new Date().toISOString();
  return {
    type: 'comment.created',
    roomId: room.id,
    roomPk: room.pk,
    threadId,
    visibility,
    commentId,
    by: 'ann',
    at,
    ...over,
  } as AppEvent;
}
/** The consumer, as the relay calls it. */
const consume = (event: AppEvent, { id = ++events, byDefault = 'replies_and_mentions' as ThreadsSetting } = {}) =>
  db.transaction((tx) =>
    notifyOfComments([{ id, type: 'inbox', payload: event as never }], tx, { outbox, byDefault, newNotificationId }),
  );
/** A comment, and what follows from it. */
async function comment(of: MadeThread, what: Parameters<typeof makeComment>[2] = {}): Promise<string> {
  const id = await makeComment(db, of, what);
  await consume(eventOf(of, id));
  return id;
}
const rowsOf = (of: MadeThread) =>
  db.query(sql<{ id: string; userId: string; notifiedAt: string; readAt: string | null }>`
    select id, user_id as "userId", notified_at as "notifiedAt", read_at as "readAt" from inbox_notifications
     where thread_pk = ${of.pk} order by user_id`);
const notified = async (of = thread) => (await rowsOf(of)).map(({ userId }) => userId);
/** What goes to webhooks of this thread, taken out of the outbox. */
async function told(of = thread): Promise<{ userId: string; notificationId: string; [key: string]: unknown }[]> {
  const rows = await db.query(sql<{ id: number; payload: any }>`
    delete from outbox where type = 'webhooks' and payload -> 'about' ->> 'threadId' = ${of.id} returning id, payload`);
  return rows.sort((left, right) => left.id - right.id).map(({ payload }) => payload);
}
const readAll = (userId: string) => markReadOf(db, { userId, organizationId: 'default' }, 'all');
const wants = (of: MadeThread, userId: string, threads: ThreadsSetting) =>
  changeRoomSettings(db, { roomId: asRoomId(of.room.id), userId }, { threads });

test('[NT11] a mention makes one row of the thread, and an event for webhooks beside it', async () => {
  await comment(thread, { mentions: ['bob', 'ann', 'bob'] });
  const [row] = await rowsOf(thread);
  expect(await notified()).toEqual(['bob']);
  expect(row!.readAt).toBeNull();
  expect(await told()).toEqual([
    {
      type: 'inbox.notified',
      notificationId: row!.id,
      userId: 'bob',
      kind: 'thread',
      roomId: thread.room.id,
      at: row!.notifiedAt,
      about: { threadId: thread.id },
    },
  ]);
});

test('[NT12] who takes part hears of each comment by others, on the same row, which moves up and becomes unread', async () => {
  await comment(thread, { by: 'ann' });
  await comment(thread, { by: 'bob' });
  const [first] = await rowsOf(thread);
  expect(await notified()).toEqual(['ann']);
  await readAll('ann');
  expect((await rowsOf(thread))[0]!.readAt).not.toBeNull();
  await comment(thread, { by: 'carol' });
  const [again, second] = await rowsOf(thread);
  expect([again!.id, again!.readAt, second!.userId]).toEqual([first!.id, null, 'bob']);
  expect(Date.parse(again!.notifiedAt)).toBeGreaterThan(Date.parse(first!.notifiedAt));
  expect((await told()).map(({ userId }) => userId)).toEqual(['ann', 'ann', 'bob']);
});

test('[NT32] who writes has read what came before, on a row that moves up with it; what came after stays unread', async () => {
  await comment(thread, { by: 'ann' });
  await comment(thread, { by: 'bob' });
  const later = await makeComment(db, thread, { by: 'ann' });
  const at = new Date(Date.now() + 5_000).toISOString();
  events += 10; // some come late
  await consume(eventOf(thread, later, { at }), { id: events });
  const own = (rows: { userId: string }[]) => rows.find(({ userId }) => userId === 'ann');
  expect(own(await rowsOf(thread))).toMatchObject({ notifiedAt: at, readAt: at });
  await consume(eventOf(thread, await makeComment(db, thread, { by: 'bob' })));
  const unread = own(await rowsOf(thread));
  expect(unread).toMatchObject({ readAt: null });
  await consume(eventOf(thread, await makeComment(db, thread, { by: 'ann' })), { id: events - 5 });
  expect(own(await rowsOf(thread))).toEqual(unread);
  await comment(thread, { by: 'ann', mentions: ['ann'] });
  expect(own(await rowsOf(thread))).not.toMatchObject({ readAt: null });
});

test('[NT32] an edit reads nothing, and who was never told has no row', async () => {
  const first = await comment(thread, { by: 'ann' });
  expect(await notified()).toEqual([]);
  await comment(thread, { by: 'bob' });
  await consume(eventOf(thread, first, { type: 'comment.edited', mentionedBefore: [], groupsMentionedBefore: [] } as never));
  expect(await rowsOf(thread)).toMatchObject([{ userId: 'ann', readAt: null }]);
});

test('[NT13] the same event again changes nothing, not even what was read meanwhile', async () => {
  const id = await makeComment(db, thread, { mentions: ['bob'] });
  const event = eventOf(thread, id);
  await consume(event, { id: 900_001 });
  await readAll('bob');
  const before = await rowsOf(thread);
  await told();
  await consume(event, { id: 900_001 });
  expect([await rowsOf(thread), await told()]).toEqual([before, []]);
});

test('[NT14] a comment, thread or room that is gone meanwhile is nobody`s news', async () => {
  const others = await Promise.all([makeThread(db, await makeRoom(db)), makeThread(db, await makeRoom(db))]);
  const ids = await Promise.all([thread, ...others].map((of) => makeComment(db, of, { mentions: ['gone'] })));
  await db.query(sql`update comments set body = null, deleted_at = now() where id = ${ids[0]}`);
  await db.query(sql`delete from threads where pk = ${others[0].pk}`);
  await db.query(sql`delete from rooms where pk = ${others[1].room.pk}`);
  for (const [index, of] of [thread, ...others].entries()) await consume(eventOf(of, ids[index]!));
  expect(await db.query(sql`select id from inbox_notifications where user_id = 'gone'`)).toEqual([]);
});

test('[NT14] and other events are passed by', async () => {
  const id = await makeComment(db, thread, { mentions: ['bob'] });
  await consume(eventOf(thread, id, { type: 'comment.deleted' } as never));
  expect(await notified()).toEqual([]);
});

test('[NT15] a group reaches its members and those whom the client named, of its own organisation alone', async () => {
  const [team, elsewhere] = [`team ${thread.id}`, `elsewhere ${thread.id}`];
  await createGroup(db, { id: team, organizationId: 'default', memberIds: ['ann', 'bob', 'carol'] });
  await createGroup(db, { id: elsewhere, organizationId: 'acme', memberIds: ['eve'] });
  await comment(thread, { mentions: [`@${team}:carol,dan`, `@${elsewhere}:frank`, '@no such group', '@'] });
  expect(await notified()).toEqual(['bob', 'carol', 'dan', 'frank']);
});

test('[NT16] what cannot be the id of a user is nobody', async () => {
  await comment(thread, { mentions: ['bob', '', 'u'.repeat(129), '__proto__', 'u'.repeat(128)] });
  expect(await notified()).toEqual(['bob', 'u'.repeat(128)]);
});

test('[NT17] an edit is told to those whom it newly mentions, by id or through a group', async () => {
  const [old, fresh] = [`old ${thread.id}`, `new ${thread.id}`];
  await createGroup(db, { id: old, organizationId: 'default', memberIds: ['olga'] });
  await createGroup(db, { id: fresh, organizationId: 'default', memberIds: ['nina', 'bob'] });
  await makeComment(db, thread, { by: 'zoe' });
  const id = await makeComment(db, thread, { mentions: ['bob', 'carol', `@${old}`, `@${fresh}:bob,dan`] });
  await consume(eventOf(thread, id, { type: 'comment.edited', mentionedBefore: ['bob'], groupsMentionedBefore: [old] } as never));
  expect(await notified()).toEqual(['bob', 'carol', 'dan', 'nina']); // bob is in the new group
});

test('[NT18] subscriptions and settings for the room decide who hears of a comment, the later call first', async () => {
  await makeComment(db, thread, { by: 'part' });
  await makeComment(db, thread, { by: 'mute' });
  await say(db, thread, 'mute', false);
  await say(db, thread, 'follows', true);
  await wants(thread, 'all', 'all');
  await wants(thread, 'none', 'none');
  await makeComment(db, thread, { by: 'none' });
  await say(db, thread, 'changed', true);
  await wants(thread, 'changed', 'none');
  await wants(thread, 'back', 'none');
  await say(db, thread, 'back', true);
  await comment(thread, { by: 'ann' });
  expect(await notified()).toEqual(['all', 'back', 'follows', 'part']);
  const other = await makeThread(db, thread.room);
  await comment(other, { by: 'ann', mentions: ['none', 'mute'] });
  expect(await notified(other)).toEqual(['all', 'mute']);
});

test('[NT19] where all is the default, whoever wrote in the room or is named by it hears of a comment', async () => {
  const room = await makeRoom(db, { usersAccesses: { named: ['*:write'] } });
  const [here, there] = [await makeThread(db, room), await makeThread(db, room)];
  await makeComment(db, there, { by: 'wrote' });
  await wants(here, 'none', 'none');
  await makeComment(db, there, { by: 'none' });
  const id = await makeComment(db, here);
  await consume(eventOf(here, id), { byDefault: 'all' });
  expect(await notified(here)).toEqual(['named', 'wrote']);
});

describe('who may read', () => {
  test('[NT20] nobody hears of a thread that the lists of its room withhold', async () => {
    const open = await makeRoom(db, {
      defaultAccesses: ['*:write', 'comments:private:none'],
      usersAccesses: { rea: ['*:write', 'comments:private:read'], out: [] },
    });
    const [publicly, privately] = [await makeThread(db, open), await makeThread(db, open, 'private')];
    for (const of of [publicly, privately]) await comment(of, { mentions: ['bob', 'rea', 'out'] });
    expect([await notified(publicly), await notified(privately)]).toEqual([['bob', 'rea'], ['rea']]);
  });

  test('[NT21] where that is not known, the inbox has a row, which a token may show, and webhooks are told nothing', async () => {
    const tokens = await makeRoom(db, { defaultAccesses: [] });
    const [publicly, privately] = [await makeThread(db, tokens), await makeThread(db, tokens, 'private')];
    for (const of of [publicly, privately]) await comment(of, { mentions: ['bob'] });
    expect([await notified(publicly), await notified(privately)]).toEqual([['bob'], ['bob']]);
    expect((await told(publicly)).map(({ userId }) => userId)).toEqual(['bob']);
    expect(await told(privately)).toEqual([]);
  });

  test('[NT22] who wrote in a private thread of the room, or subscribed to this one, is known to read them', async () => {
    const tokens = await makeRoom(db, { defaultAccesses: [] });
    const [before, here, publicly] = [
      await makeThread(db, tokens, 'private'),
      await makeThread(db, tokens, 'private'),
      await makeThread(db, tokens),
    ];
    await makeComment(db, before, { by: 'colleague' });
    await makeComment(db, before, { by: 'ann', mentions: ['mentioned'] });
    await makeComment(db, publicly, { by: 'customer' });
    await say(db, here, 'follower', true);
    await comment(here, { mentions: ['colleague', 'customer', 'mentioned'] });
    expect(await notified(here)).toEqual(['colleague', 'customer', 'follower', 'mentioned']);
    expect((await told(here)).map(({ userId }) => userId).sort()).toEqual(['colleague', 'follower']);
  });
});

test('[NT27] whom the last token let read private threads of the room hears of them by webhooks, and whom it did not does not', async () => {
  const room = await makeRoom(db, { defaultAccesses: [] });
  const [hidden, open] = [await makeThread(db, room, 'private'), await makeThread(db, room)];
  const notes = new ReaderNotes({ db, clock: manualClock() });
  const seen = (userId: string, scopes: string[]) =>
    notes.note(userId, { roomId: asRoomId(room.id), permissions: permissionsOf(scopes) });
  await makeComment(db, hidden, { by: 'revoked' });
  await seen('insider', ['*:read']);
  for (const outsider of ['outsider', 'revoked']) await seen(outsider, ['*:write', 'comments:private:none']);
  for (const of of [hidden, open]) await comment(of, { mentions: ['insider', 'outsider', 'revoked', 'unseen'] });
  expect(await notified(hidden)).toEqual(['insider', 'outsider', 'revoked', 'unseen']);
  expect((await told(hidden)).map(({ userId }) => userId)).toEqual(['insider']);
  expect((await told(open)).map(({ userId }) => userId).sort()).toEqual(['insider', 'outsider', 'revoked', 'unseen']);
  await db.query(sql`update room_readers set seen_at = now() - interval '31 days' where room_pk = ${room.pk}`);
  await comment(hidden, { mentions: ['insider', 'outsider', 'revoked', 'unseen'] });
  expect((await told(hidden)).map(({ userId }) => userId)).toEqual(['revoked']); // who wrote there once
});

test('[NT23] of many comments at once, each with its own users in its own order, none is lost and none waits for ever', async () => {
  const users = Array.from({ length: 40 }, (_, n) => `u${n}`);
  const threads = [thread, await makeThread(db, thread.room)];
  const made = await Promise.all(
    Array.from({ length: 16 }, async (_, n) => {
      const of = threads[n % 2]!;
      const mentions = n % 3 === 0 ? users : [...users].reverse();
      return eventOf(of, await makeComment(db, of, { by: `author ${n}`, mentions }));
    }),
  );
  await Promise.all([...made.map((event) => consume(event)), readAll('u3'), readAll('u5')]);
  for (const of of threads) {
    const rows = await rowsOf(of);
    expect(rows.filter(({ userId }) => users.includes(userId))).toHaveLength(users.length);
    expect((await told(of)).filter(({ userId }) => userId === 'u7')).toHaveLength(8);
  }
});

test('[NT29] a room that is deleted meanwhile waits for the notifications, and takes them with it', async () => {
  const event = eventOf(thread, await makeComment(db, thread, { mentions: ['bob'] }));
  let deleting: Promise<unknown> | undefined;
  const slow = meddled(db, async ({ text }, run) => {
    if (text.includes('insert into inbox_notifications')) {
      deleting = db.query(sql`delete from rooms where pk = ${thread.room.pk}`);
      await until('it waits', async () => (await db.query(sql`select pid from pg_locks where not granted`)).length > 0);
    }
    return run();
  });
  await slow.transaction((tx) =>
    notifyOfComments([{ id: ++events, type: 'inbox', payload: event as never }], tx, {
      outbox,
      byDefault: 'replies_and_mentions',
      newNotificationId,
    }),
  );
  expect(deleting).toBeDefined();
  await deleting;
  expect([await notified(), (await told()).length]).toEqual([[], 1]);
});

test('[NT24] it is notified no earlier than the comment, and no later than a minute ahead of the database', async () => {
  const soon = new Date(Date.now() + 20_000).toISOString();
  const id = await makeComment(db, thread, { mentions: ['bob'] });
  await consume(eventOf(thread, id, { at: soon }));
  expect((await rowsOf(thread))[0]!.notifiedAt).toBe(soon);
  const other = await makeThread(db, thread.room);
  await consume(eventOf(other, await makeComment(db, other, { mentions: ['bob'] }), { at: '2099-01-01T00:00:00.000Z' }));
  expect(Date.parse((await rowsOf(other))[0]!.notifiedAt)).toBeLessThan(Date.now() + 120_000);
  const past = await makeThread(db, thread.room);
  await consume(eventOf(past, await makeComment(db, past, { mentions: ['bob'] }), { at: '2001-01-01T00:00:00.000Z' }));
  expect(Date.parse((await rowsOf(past))[0]!.notifiedAt)).toBeGreaterThan(Date.now() - 60_000);
});

test('[NT25] who takes part only since a later comment is not told of an earlier one', async () => {
  const row = (at: string) =>
    db.query(
      sql<{ id: number }>`insert into outbox (type, payload, created_at) values ('test', '{}', ${at}::timestamptz) returning id`,
    );
  await makeComment(db, thread, { by: 'before' });
  const id = await makeComment(db, thread);
  const [event] = await row(new Date().toISOString());
  await db.query(sql`update thread_subscriptions set created_at = now() - interval '1 minute' where thread_pk = ${thread.pk}`);
  await makeComment(db, thread, { by: 'later', mentions: ['mentioned'] });
  await db.query(
    sql`update thread_subscriptions set created_at = now() + interval '1 minute' where thread_pk = ${thread.pk} and user_id in ('later', 'mentioned')`,
  );
  await consume(eventOf(thread, id), { id: event!.id });
  expect(await notified()).toEqual(['before']);
  await comment(thread);
  expect(await notified()).toEqual(['before', 'later', 'mentioned']);
});

test('[NT33] who wrote first is told of a reply, also by one whose transaction began before', async () => {
  const { id, event } = await db.transaction(async (tx) => {
    await tx.query(sql`select 1`); // the transaction, and its time, begin
    await pause(systemClock, 20);
    await makeComment(db, thread, { by: 'first' });
    const reply = await makeComment(tx, thread, { by: 'second' });
    const [row] = await tx.query(sql<{ id: number }>`insert into outbox (type, payload) values ('test', '{}') returning id`);
    return { id: reply, event: row!.id };
  });
  await consume(eventOf(thread, id, { by: 'second' }), { id: event });
  expect(await notified()).toEqual(['first']);
});

test('[NT17] a comment that was edited before its own event came is read with the edit, and told once', async () => {
  const id = await makeComment(db, thread, { mentions: ['bob', 'carol'] });
  const editedAt = new Date(Date.now() - 1_000).toISOString();
  await consume(eventOf(thread, id));
  await readAll('carol');
  await told();
  await consume(
    eventOf(thread, id, { type: 'comment.edited', mentionedBefore: [], groupsMentionedBefore: [], at: editedAt } as never),
  );
  expect((await told()).map(({ userId }) => userId)).toEqual(['carol']); // who has read it meanwhile is told rather twice than not at all
});

test('[NT17] so is one that was edited while the relay that tells of it was under way already', async () => {
  const id = await makeComment(db, thread, { mentions: ['bob'] });
  const created = { id: ++events, type: 'inbox', payload: eventOf(thread, id) as never };
  const edited: Partial<AppEvent> = await db.transaction(async (tx) => {
    await tx.query(sql`select 1`); // the transaction, and its time, begin
    await pause(systemClock, 20);
    const at = new Date().toISOString();
    await notifyOfComments([created], tx, { outbox, byDefault: 'replies_and_mentions', newNotificationId });
    return { type: 'comment.edited', mentionedBefore: [], groupsMentionedBefore: [], at } as never;
  });
  await consume(eventOf(thread, id, edited));
  expect((await told()).map(({ userId }) => userId)).toEqual(['bob']);
});

describe('many at once', () => {
  /** Of each test its own. */
  let eve: string;
  /** Threads of two rooms, in the order of these, of which eve has been told; made and named in this order, or the other one. */
  async function twoThreads(made: 'in order' | 'turned'): Promise<[MadeThread, MadeThread]> {
    eve = `eve ${++events}`;
    const rooms = [await makeRoom(db), await makeRoom(db)];
    const threads: MadeThread[] = [];
    for (const room of made === 'in order' ? rooms : rooms.reverse()) threads.push(await makeThread(db, room));
    for (const of of threads) await comment(of, { mentions: [eve] });
    return (made === 'in order' ? threads : threads.reverse()) as [MadeThread, MadeThread];
  }
  const newsOf = async (...threads: MadeThread[]) => {
    const rows = [];
    for (const of of threads)
      rows.push({ id: ++events, type: 'inbox', payload: eventOf(of, await makeComment(db, of, { mentions: [eve] })) as never });
    return rows;
  };
  const deps = { outbox, byDefault: 'replies_and_mentions' as const, newNotificationId };

  test('[NT30] of two relays that tell of the same threads, and one who reads or deletes all, or a room or thread, none waits for another for ever', async () => {
    const meets = (['relay', 'read', 'delete', 'room', 'thread'] as const).flatMap((meet) => [
      [meet, 'in order'] as const,
      [meet, 'turned'] as const,
    ]);
    for (const [meet, made] of meets) {
      const [first, second] = await twoThreads(made);
      const [rows, others] = [await newsOf(first, second), await newsOf(second, first)];
      const met = {
        relay: () => db.transaction((tx) => notifyOfComments(others, tx, deps)),
        read: () => readAll(eve),
        delete: () => deleteNotifications(db, { userId: eve, organizationId: null, id: null }),
        room: () => db.change(sql`delete from rooms where pk = ${second.room.pk}`),
        thread: () => db.change(sql`delete from threads where pk = ${second.pk}`),
      };
      const meeting: Promise<unknown>[] = [];
      const slow = meddled(db, async ({ text }, run) => {
        const answer = await run();
        if (text.includes('insert into inbox_notifications') && meeting.length === 0) {
          meeting.push(met[meet]());
          const waiting = sql`select from pg_stat_activity where wait_event_type = 'Lock' and query ~ '(insert into|update|delete from) (inbox_|rooms|threads)|pg_advisory_xact_lock'`;
          await until('it waits', async () => (await db.query(waiting)).length > 0);
        }
        return answer;
      });
      await slow.transaction((tx) => notifyOfComments(rows, tx, deps));
      await Promise.all(meeting);
      expect(meeting).toHaveLength(1);
    }
  });

  test('[NT31] of what is told together the later comment stands above, whatever its thread', async () => {
    const [first, second] = await twoThreads('turned');
    const rows = await newsOf(second, first, second);
    await db.transaction((tx) => notifyOfComments(rows, tx, deps));
    const at = async (of: MadeThread) => Date.parse((await rowsOf(of))[0]!.notifiedAt);
    expect(await at(second)).toBeGreaterThanOrEqual(await at(first)); // milliseconds
  });
});
