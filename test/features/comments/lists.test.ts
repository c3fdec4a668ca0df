/** Lists of threads, what changed in them, searches and subscriptions, against a real Postgres. */
import { beforeEach, describe, expect, test } from 'vitest';
import { addReaction, deleteComment } from '../../../src/features/comments/comments/queries.ts';
import { findThreadsByPk } from '../../../src/features/comments/documents/queries.ts';
import type { SubscriptionDefault } from '../../../src/features/comments/filters/queries.ts';
import { filterOf } from '../../../src/features/comments/filters/rules.ts';
import { findRoomsOfThreads, listChanged, listDeleted, searchComments } from '../../../src/features/comments/reading/queries.ts';
import { ANSWER_LIMITS } from '../../../src/features/comments/reading/rules.ts';
import {
  findSubscribers,
  findSubscriptions,
  findSubscriptionsSince,
  subscribe,
  unsubscribe,
} from '../../../src/features/comments/subscriptions/queries.ts';
import { deleteThread, listThreads, setResolved, type ThreadsAsked } from '../../../src/features/comments/threads/queries.ts';
import { BACK_END } from '../../../src/features/comments/threads/rules.ts';
import { isNotified } from '../../../src/features/notifications/of-comments/rules.ts';
import { deleteRoomSettings } from '../../../src/features/notifications/settings/queries.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import type { CommentBody } from '../../../src/protocol/comments.ts';
import { addManyRooms, planOf } from '../../support/plan.ts';
import { usePostgres } from '../../support/postgres.ts';
import { NOW_MS, says, type Threads, threadsIn } from './a-thread.ts';

const db: Sql = await usePostgres().open();
let threads: Threads;
beforeEach(async () => {
  threads = await threadsIn(db);
});

const both = () => ({ public: [threads.roomPk], private: [threads.roomPk] });
const byDefault: SubscriptionDefault = 'replies_and_mentions';
const idsOf = async (pks: readonly { pk: number }[]) =>
  (
    await findThreadsByPk(
      db,
      pks.map(({ pk }) => pk),
    )
  ).map(({ id }) => id);
async function list(query = '', more: Partial<ThreadsAsked> = {}): Promise<string[]> {
  const asked = {
    roomPks: both(),
    userId: null,
    clauses: filterOf(query, 'client'),
    byDefault,
    after: null,
    limit: 100,
    which: 'all' as const,
  };
  return idsOf(await listThreads(db, { ...asked, ...more }));
}
const sinceLongAgo = { sinceMs: 0, which: 'all' as const, userId: null };
const setRoom = (userId: string, setting: string | null) =>
  db.query(sql`
    insert into room_subscription_settings (room_pk, user_id, threads) values (${threads.roomPk}, ${userId}, ${setting})
    on conflict (room_pk, user_id) do update set threads = excluded.threads, changed_at = clock_timestamp()`);
const resolve = (id: string) => threads.change(id, (change) => setResolved(change, { resolved: true, by: 'mia', atMs: NOW_MS }));

describe('lists', () => {
  test('[CM40] newest first, in pages that lose and repeat nothing, also within a millisecond', async () => {
    for (let n = 0; n < 5; n += 1) await threads.create(`t${n}`, { atMs: NOW_MS + Math.floor(n / 2) });
    expect(await list()).toEqual(['t4', 't3', 't2', 't1', 't0']);
    const paged: string[] = [];
    let after: ThreadsAsked['after'] = null;
    for (;;) {
      const clauses = filterOf('', 'client');
      const page = await listThreads(db, { roomPks: both(), userId: null, clauses, byDefault, after, limit: 2, which: 'all' });
      if (page.length === 0) break;
      paged.push(...(await idsOf(page)));
      const last = page.at(-1)!;
      after = { atMs: Date.parse(last.createdAt), pk: last.pk };
    }
    expect(paged).toEqual(['t4', 't3', 't2', 't1', 't0']);
  });

  test('[CM41] only what may be read is listed', async () => {
    await threads.create('open');
    await threads.create('closed', { visibility: 'private' });
    const pk = threads.roomPk;
    expect(await list('', { roomPks: { public: [pk], private: [] } })).toEqual(['open']);
    expect(await list('', { roomPks: { public: [], private: [pk] } })).toEqual(['closed']);
    expect(await list('', { roomPks: { public: [], private: [] } })).toEqual([]);
    expect(await list('', { roomPks: { public: [pk, -1], private: [-1] } })).toEqual(['open']);
    expect(await list('', { roomPks: { public: [pk, -1], private: [pk, -2] } })).toHaveLength(2);
  });

  test.each<[query: string, ids: string[]]>([
    ['', ['none', 'text', 'flag', 'three']],
    ['metadata["p"]:3', ['three']],
    ['metadata["p"]:"3"', ['text']],
    ['metadata["p"]:true', ['flag']],
    ['metadata["p"]:null', ['none']],
    ['metadata["p"]^"3"', ['text']],
    ['metadata["p"]^""', ['text']],
    ['metadata["p"]>2', ['three']],
    ['metadata["p"]>3', []],
    ['metadata["p"]>=3 metadata["p"]<=3', ['three']],
    ['metadata["p"]<3.5 metadata["p"]<1e3', ['three']],
    ['metadata["p"]:3 metadata["p"]:4', []],
    ['resolved:true', ['three']],
    ['resolved:false', ['none', 'text', 'flag']],
    ['visibility:"private"', ['flag']],
    ["visibility:'public' resolved:false", ['none', 'text']],
    ['metadata["resolved"]:true', ['flag', 'three']],
    ['metadata["resolved"]:false', ['none', 'text']],
    ['metadata["q%_"]:"a\\"b"', ['text']],
  ])('[CM42] a filter lets through what it says, values by their type: %s', async (query, ids) => {
    await threads.create('three', { threadMetadata: { p: 3 }, atMs: NOW_MS });
    await threads.create('flag', { threadMetadata: { p: true, resolved: true }, visibility: 'private', atMs: NOW_MS + 1 });
    await threads.create('text', { threadMetadata: { p: '3', 'q%_': 'a"b' }, atMs: NOW_MS + 2 });
    await threads.create('none', { atMs: NOW_MS + 3 });
    await resolve('three');
    expect(await list(query)).toEqual(ids);
  });

  test('[CM43] of a user: where they take part or asked to hear, in all rooms where they may read', async () => {
    await threads.create('mine', { userId: 'mia' });
    await threads.create('named', { userId: 'tom', body: says('hi', 'mia') });
    await threads.create('subscribed', { userId: 'tom' });
    await threads.create('not', { userId: 'tom' });
    const [{ pk }] = (await db.query(
      sql<{ pk: number }>`select pk from threads where room_pk = ${threads.roomPk} and id = 'subscribed'`,
    )) as [{ pk: number }];
    await subscribe(db, { thread: { pk, id: 'subscribed' }, userId: 'mia', nowMs: NOW_MS });
    const ofMia = { userId: 'mia', which: 'of the user' as const };
    expect((await list('', ofMia)).sort()).toEqual(['mine', 'named', 'subscribed']);
    expect(await list('', { ...ofMia, userId: 'eve' })).toEqual([]);
    await setRoom('eve', 'all');
    expect(await list('', { ...ofMia, userId: 'eve' })).toHaveLength(4);
    const rooms = await findRoomsOfThreads(db, { userId: 'mia', organizationId: 'default' }, { deletedSinceMs: null });
    expect(rooms.map(({ id }) => id)).toContain(threads.roomId);
    expect(await findRoomsOfThreads(db, { userId: 'mia', organizationId: 'acme' }, { deletedSinceMs: null })).toEqual([]);
  });

  test('[IB26] the rooms of a user are looked up, however many others there are', async () => {
    for (let made = 0; made < 30; made += 1) await threads.create(`of-mia-${made}`, { userId: 'mia' });
    await addManyRooms(db);
    const person = { userId: 'mia', organizationId: 'default' };
    const plan = await planOf(db, (explaining) => findRoomsOfThreads(explaining, person, { deletedSinceMs: 0 }));
    expect(plan).toContain('Index Cond: (pk = ANY');
  });

  test('[CM44] however many threads, comments and reactions there are, they are read in four queries', async () => {
    const pks: number[] = [];
    for (let n = 0; n < 6; n += 1) {
      pks.push(await threads.create(`t${n}`));
      for (let c = 0; c < n; c += 1) await threads.add(`t${n}`, `c${c}`);
      await threads.change(`t${n}`, (change) =>
        addReaction(change, { commentId: `t${n}-1`, emoji: 'x', userId: 'mia', atMs: NOW_MS }),
      );
    }
    let queries = 0;
    const counting: Sql = {
      query: (query) => {
        queries += 1;
        return db.query(query);
      },
      change: (query) => db.change(query),
      transaction: (work) => db.transaction(work),
    };
    const found = await findThreadsByPk(counting, pks.reverse());
    expect(queries).toBe(4);
    expect(found.map(({ id, comments }) => [id, comments.length])).toEqual([5, 4, 3, 2, 1, 0].map((n) => [`t${n}`, n + 1]));
    expect(found.every(({ comments }) => comments[0]!.reactions.length === 1)).toBe(true);
  });
});

describe('changes', () => {
  test('[CM45] all that changed since is listed, the earliest first, and what was deleted, by what may be read', async () => {
    await threads.create('first', { atMs: NOW_MS - 86_400_000 });
    await threads.create('second', { visibility: 'private' });
    await resolve('first');
    const asked = { roomPks: both(), ...sinceLongAgo };
    const changed = await listChanged(db, asked);
    expect(await idsOf(changed)).toEqual(['second', 'first']);
    const last = Date.parse(changed[1]!.changedAt);
    expect(await idsOf(await listChanged(db, { ...asked, sinceMs: last }))).toContain('first');
    expect(await listChanged(db, { ...asked, sinceMs: last + 1 })).toEqual([]);
    await threads.change('second', deleteThread);
    expect(await listDeleted(db, asked)).toEqual([
      { type: 'deletedThread', id: 'second', roomId: threads.roomId, deletedAt: expect.stringMatching(/^20.*Z$/) },
    ]);
    const pk = threads.roomPk;
    expect(await listDeleted(db, { ...asked, roomPks: { public: [pk], private: [] } })).toEqual([]);
    expect(await listDeleted(db, { ...asked, which: 'of the user', userId: 'mia' })).toHaveLength(1);
    expect(await listDeleted(db, { ...asked, which: 'of the user', userId: 'tom' })).toEqual([]);
    expect(await listDeleted(db, { ...asked, sinceMs: Date.now() + 60_000 })).toEqual([]);
  });

  test('[CM67] a thread that became a user`s since, by what they said elsewhere, is among what has changed for them', async () => {
    const pk = await threads.create('old');
    await threads.create('other');
    await db.query(sql`update threads set changed_at = now() - interval '1 hour' where room_pk = ${threads.roomPk}`);
    const sinceMs = Date.now() - 60_000;
    const changedFor = (userId: string, which: 'all' | 'of the user' = 'of the user') =>
      listChanged(db, { roomPks: both(), userId, which, sinceMs });
    expect(await changedFor('eve')).toEqual([]);
    await subscribe(db, { thread: { pk, id: 'old' }, userId: 'eve', nowMs: Date.now() });
    const [changed, ...others] = await changedFor('eve');
    expect([changed!.pk, others, await changedFor('ned'), await changedFor('eve', 'all')]).toEqual([pk, [], [], []]);
    expect(Date.parse(changed!.changedAt)).toBeGreaterThan(sinceMs);
    await resolve('old');
    expect(await changedFor('eve')).toHaveLength(1);
    await unsubscribe(db, { thread: { pk, id: 'old' }, userId: 'eve', nowMs: Date.now() });
    expect(await changedFor('eve')).toEqual([]); // that it is not theirs any more, subscriptions say
  });

  test('[CM46] no answer has more than its number of threads', async () => {
    await db.query(sql`
      insert into threads (room_pk, id, created_by, created_at, updated_at, visibility)
      select ${threads.roomPk}, 'many-' || n, 'mia', now(), now(), 'public' from generate_series(1, ${ANSWER_LIMITS.changedMax + 5}) n`);
    expect(await listChanged(db, { roomPks: both(), ...sinceLongAgo })).toHaveLength(ANSWER_LIMITS.changedMax + 1);
  });
});

describe('searches', () => {
  const mention: CommentBody = {
    version: 1,
    content: [{ type: 'paragraph', children: [{ text: 'Hello ' }, { type: 'mention', id: 'tom' }] }],
  };
  const search = async (text: string, query = '', roomPks = both()) =>
    (
      await searchComments(db, { roomPks, words: text.split(' ').filter(Boolean), clauses: filterOf(query, 'search'), byDefault })
    ).map(({ commentId }) => commentId);

  test('[CM47] find comments that have all the words, whatever their case and place, the newest first', async () => {
    await threads.create('th', { body: mention });
    await threads.add('th', 'c', { body: says('hello 100% WORLD_wide'), atMs: NOW_MS + 1 });
    expect(await search('hello')).toEqual(['c', 'th-1']);
    expect(await search('world HELLO')).toEqual(['c']);
    expect(await search('hello absent')).toEqual([]);
    expect(await search('')).toEqual(['c', 'th-1']);
    expect([await search('100%'), await search('d_w'), await search('1%d'), await search('\\')]).toEqual([['c'], ['c'], [], []]);
    expect(await search('@tom')).toEqual(['th-1']);
    await threads.change('th', (change) => deleteComment(change, { commentId: 'c', viewer: BACK_END, atMs: NOW_MS }));
    expect(await search('hello')).toEqual(['th-1']);
  });

  test('[CM48] by thread, mentions and attachments, and only where threads may be read', async () => {
    await threads.create('th', { body: mention, threadMetadata: { k: 1 } });
    await threads.create('other', { body: says('hello'), visibility: 'private' });
    await resolve('other');
    expect(await search('hello', 'hasMentions:true')).toEqual(['th-1']);
    expect(await search('hello', 'hasMentions:false')).toEqual(['other-1']);
    expect(await search('hello', 'threadResolved:true')).toEqual(['other-1']);
    expect(await search('hello', "threadMetadata['k']:1")).toEqual(['th-1']);
    expect(await search('hello', 'hasAttachments:true')).toEqual([]);
    expect(await search('hello', 'hasAttachments:false')).toHaveLength(2);
    expect(await search('hello', '', { public: [threads.roomPk], private: [] })).toEqual(['th-1']);
    await db.query(sql`
      insert into attachments (room_pk, id, user_id, comment_pk, name, size, mime_type, blob_key)
      select ${threads.roomPk}, 'at_1', 'mia', c.pk, 'a.png', 3, 'image/png', 'k' from comments c join threads t on t.pk = c.thread_pk
       where t.room_pk = ${threads.roomPk} and c.id = 'th-1'`);
    expect(await search('hello', 'hasAttachments:true')).toEqual(['th-1']);
    expect(
      (
        await findThreadsByPk(db, [
          (await db.query(sql<{ pk: number }>`select pk from threads where room_pk = ${threads.roomPk} and id = 'th'`))[0]!.pk,
        ])
      )[0]!.comments[0]!.attachments,
    ).toEqual([{ type: 'attachment', id: 'at_1', name: 'a.png', size: 3, mimeType: 'image/png' }]);
  });
});

describe('subscriptions', () => {
  let threadPk: number;
  beforeEach(async () => {
    threadPk = await threads.create('th', { userId: 'mia' });
  });
  const isSubscribed = async (userId: string, wanted: SubscriptionDefault = byDefault) =>
    (await findSubscriptions(db, { userId, threadPks: [threadPk], byDefault: wanted })).length === 1;
  const subscribers = async () => (await findSubscribers(db, { threadPk, byDefault })).map(({ userId }) => userId).sort();
  const said = (userId: string) => ({ thread: { pk: threadPk, id: 'th' }, userId, nowMs: NOW_MS });

  test('[CM49] who takes part is subscribed, who says so is or is not, and the later call wins over the setting of the room', async () => {
    expect([await isSubscribed('mia'), await isSubscribed('tom')]).toEqual([true, false]);
    await unsubscribe(db, said('mia'));
    await subscribe(db, said('tom'));
    expect([await isSubscribed('mia'), await isSubscribed('tom')]).toEqual([false, true]);
    await threads.add('th', 'c', { userId: 'mia' }); // taking part is no call
    expect(await isSubscribed('mia')).toBe(false);
    await setRoom('mia', 'replies_and_mentions');
    await setRoom('tom', 'none');
    expect([await isSubscribed('mia'), await isSubscribed('tom')]).toEqual([true, false]);
    await setRoom('eve', 'all');
    expect(await isSubscribed('eve')).toBe(true);
    await unsubscribe(db, said('eve'));
    expect(await isSubscribed('eve')).toBe(false);
    await setRoom('eve', null); // a row that says nothing of threads
    expect(await isSubscribed('eve')).toBe(false);
    expect(await subscribers()).toEqual(['mia']);
  });

  test('[CM50] the default of the server counts for who said nothing', async () => {
    expect([await isSubscribed('zoe', 'all'), await isSubscribed('zoe', 'none'), await isSubscribed('mia', 'none')]).toEqual([
      true,
      false,
      false,
    ]);
    await setRoom('zoe', 'none');
    expect(await isSubscribed('zoe', 'all')).toBe(false);
  });

  test('[CM51] a subscription keeps the time it began, and begins anew after its end', async () => {
    const first = await subscribe(db, said('tom'));
    expect(first).toEqual({ kind: 'thread', subjectId: 'th', createdAt: new Date(NOW_MS).toISOString() });
    expect(await subscribe(db, { ...said('tom'), nowMs: NOW_MS + 1_000 })).toEqual(first);
    await unsubscribe(db, { ...said('tom'), nowMs: NOW_MS + 2_000 });
    const { createdAt } = await subscribe(db, { ...said('tom'), nowMs: NOW_MS + 3_000 });
    expect(createdAt).toBe(new Date(NOW_MS + 3_000).toISOString());
    await threads.change('th', deleteThread);
    await expect(subscribe(db, said('tom'))).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
    await unsubscribe(db, said('tom'));
  });

  test('[CM53] the lists and the inbox agree on who is subscribed, whatever was said and set', async () => {
    const settings = ['all', 'replies_and_mentions', 'none'] as const;
    const flags = [true, false];
    const cases = [null, true, false].flatMap((isSubscribed) =>
      [null, ...settings].flatMap((threads) =>
        flags.flatMap((takesPart) =>
          flags.flatMap((saidLast) => settings.map((wanted) => ({ isSubscribed, threads, takesPart, saidLast, wanted }))),
        ),
      ),
    );
    for (const { isSubscribed, threads: setting, takesPart, saidLast, wanted } of cases) {
      const setAt = setting === null ? null : '2026-01-02T00:00:00Z';
      const saidAt = isSubscribed === null ? null : saidLast ? '2026-01-03T00:00:00Z' : '2026-01-01T00:00:00Z';
      const [row] = await db.query(sql<{ is: boolean }>`
        select is_subscribed(${isSubscribed}, ${saidAt}::timestamptz, ${takesPart}, ${setting ?? wanted}, ${setAt}::timestamptz) as is`);
      const saidOfThreadLast = setAt !== null && saidAt !== null && saidLast;
      const listener = {
        userId: 'tom',
        isMentioned: false,
        takesPart,
        isSubscribed,
        threads: setting,
        saidOfThreadLast,
        mayRead: 'yes' as const,
      };
      const told = isNotified(listener, { author: 'mia', what: 'comment', byDefault: wanted });
      expect(row!.is, JSON.stringify(listener)).toBe(told);
    }
    expect(cases).toHaveLength(144);
  });

  test('[CM52] what a user is subscribed to since, or no longer, is told; of what may not be read nothing is', async () => {
    await threads.create('closed', { userId: 'mia', visibility: 'private' });
    const since = (roomPks = both(), sinceMs = 0) => findSubscriptionsSince(db, { userId: 'mia', roomPks, sinceMs, byDefault });
    expect((await since()).subscriptions.map(({ subjectId }) => subjectId).sort()).toEqual(['closed', 'th']);
    expect((await since({ public: [threads.roomPk], private: [] })).subscriptions.map(({ subjectId }) => subjectId)).toEqual([
      'th',
    ]);
    await unsubscribe(db, said('mia'));
    const { subscriptions, deleted } = await since();
    expect(subscriptions.map(({ subjectId }) => subjectId)).toEqual(['closed']);
    expect(deleted).toEqual([
      { type: 'deletedSubscription', kind: 'thread', subjectId: 'th', deletedAt: expect.stringMatching(/Z$/) },
    ]);
    await setRoom('mia', 'none');
    expect((await since()).deleted).toHaveLength(2);
    await setRoom('mia', 'all');
    await setRoom('ned', 'all');
    const roomsOf = async (userId: string, deletedSinceMs: number | null) =>
      (await findRoomsOfThreads(db, { userId, organizationId: 'default' }, { deletedSinceMs })).map(({ pk }) => pk);
    expect((await since()).subscriptions).toHaveLength(2);
    for (const userId of ['mia', 'ned']) await deleteRoomSettings(db, { roomId: threads.roomId, userId });
    expect((await since()).deleted.map(({ subjectId }) => subjectId)).toEqual(['th']); // it was unsubscribed, and takes part in the other
    const ofNed = await findSubscriptionsSince(db, { userId: 'ned', roomPks: both(), sinceMs: 0, byDefault });
    expect([ofNed.subscriptions, ofNed.deleted.length]).toEqual([[], 2]);
    expect([await roomsOf('ned', null), await roomsOf('ned', 0)]).toEqual([[], [threads.roomPk]]);
    expect(await since(both(), Date.now() + 60_000)).toEqual({ subscriptions: [], deleted: [] });
    expect(await findSubscriptionsSince(db, { userId: 'eve', roomPks: both(), sinceMs: 0, byDefault })).toEqual({
      subscriptions: [],
      deleted: [],
    });
  });
});
