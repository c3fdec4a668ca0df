/** Feeds against a real Postgres: what they hold, how much, in which order changes are told, and what lists show. */
import { beforeEach, describe, expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/clock.ts';
import { asRoomId, newId, type RoomId } from '../../../src/base/ids.ts';
import type { FeedNews } from '../../../src/features/feeds/queries.ts';
import { answerFeedRequest } from '../../../src/features/feeds/requests/routes.ts';
import { type FeedDeps, feedRoutes } from '../../../src/features/feeds/routes.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { FEED_LIMITS, type FeedRequest } from '../../../src/protocol/feeds.ts';
import { FULL_ACCESS } from '../../../src/protocol/permissions.ts';
import { usePostgres } from '../../support/postgres.ts';
import { untilBlocked } from '../../support/streams.ts';
import { type Answer, type Call, callerOf } from '../call.ts';

const db: Sql = await usePostgres().open();
const NOW_MS = Date.UTC(2026, 0, 2);
let rooms = 0;
let roomId: RoomId;
let call: Call;
let told: FeedNews[];
let deps: FeedDeps;

beforeEach(async () => {
  rooms += 1;
  roomId = asRoomId(`room ${rooms}`);
  await db.query(sql`insert into rooms (id) values (${roomId})`);
  told = [];
  deps = { db, nowMs: () => NOW_MS, newId: (prefix) => newId(systemRandom, prefix), tell: (news) => told.push(news) };
  call = callerOf(feedRoutes(deps));
});

const at = (rest = ''): string => `/v2/rooms/${encodeURIComponent(roomId)}/feeds${rest}`;
const make = (feedId: string, more: object = {}) => call(`POST ${at()}`, { json: { feedId, ...more } });
const say = (data: object, more: object = {}, feedId = 'chat') =>
  call(`POST ${at(`/${feedId}/messages`)}`, { json: { data, ...more } });
const change = (id: string, data: object, more: object = {}) =>
  call(`PATCH ${at(`/chat/messages/${id}`)}`, { json: { data, ...more } });
const sizes = async () =>
  (
    await db.query(sql`
      select message_count as messages, content_bytes as bytes from feeds where room_pk = (select pk from rooms where id = ${roomId})`)
  )[0];
const expectMalformed = ({ status, json }: Answer, words: string): void => {
  expect(status).toBe(422);
  expect(json.message).toContain(words);
};
const asked = (kind: FeedRequest['kind'], fields: object) =>
  answerFeedRequest(
    { kind, requestId: 'r', fields: fields as FeedRequest['fields'], flaw: null },
    { roomId, permissions: FULL_ACCESS },
    deps,
  );

describe('what feeds hold', () => {
  test('[FE2] metadata are texts and lists of texts: null removes one, what is not named stays, and bounds count what would be there', async () => {
    const entries = (count: number, value: unknown = 'v') =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]));
    expect((await make('chat', { metadata: { name: 'a', tags: ['x', 'y'] } })).json.metadata).toEqual({
      name: 'a',
      tags: ['x', 'y'],
    });
    const patch = (metadata: object) => call(`PATCH ${at('/chat')}`, { json: { metadata } });
    expect((await patch({ tags: null, more: 'z' })).json.metadata).toEqual({ name: 'a', more: 'z' });
    expectMalformed(await patch(entries(49)), "'metadata' may have at most 50 entries; it would have 51");
    expect((await patch(entries(48))).status).toBe(200);
    expectMalformed(await make('b', { metadata: { ['k'.repeat(41)]: 'v' } }), '1 to 40 characters');
    expectMalformed(await make('b', { metadata: { a: 'x'.repeat(4_001) } }), "'metadata.a' must have at most 4000 characters");
    expectMalformed(await make('b', { metadata: { a: Array(101).fill('x') } }), "'metadata.a' may have at most 100 items");
    expectMalformed(await make('b', { metadata: { a: 'half \ud800' } }), "'metadata.a' may not hold");
    expectMalformed(
      await make('b', { metadata: entries(5, 'x'.repeat(4_000)) }),
      `at most ${FEED_LIMITS.metadataBytesMax} bytes`,
    );
    for (const wrong of [5, true, null, { a: 'b' }, [5]])
      expectMalformed(await make('b', { metadata: { a: wrong } }), "'metadata.a");
  });

  test('[FE3] data are any object of up to 128 KiB, and come back as they were written', async () => {
    await make('chat');
    const data = { z: 1, a: [1.25, -0, 1e21, null, 'ü\u0000\ud800'], '': { deep: [[]] } };
    expect((await say(data, { id: 'm' })).json.data).toEqual(JSON.parse(JSON.stringify(data)));
    expect(Object.keys((await call(`GET ${at('/chat/messages')}`)).json.data[0].data)).toEqual(['z', 'a', '']);
    const longest = { a: 'x'.repeat(FEED_LIMITS.dataBytesMax - '{"a":""}'.length) };
    expect((await say(longest)).status).toBe(200);
    expectMalformed(await say({ a: `${longest.a}x` }), "'data' may have at most 131072 bytes");
    expectMalformed(await change('m', { a: `${longest.a}x` }), "'data' may have at most 131072 bytes");
    for (const wrong of [[], 'text', 5, null]) expectMalformed(await say(wrong as object), "'data'");
  });

  test('[FE4] a feed has so many messages and so many bytes, and no more; what is deleted makes room', async () => {
    await make('chat');
    await say({ a: 'ü' }, { id: 'm' });
    expect(await sizes()).toEqual({ messages: 1, bytes: 10 });
    await change('m', { a: 'longer' });
    expect(await sizes()).toEqual({ messages: 1, bytes: 14 });
    await db.query(sql`update feeds set content_bytes = ${FEED_LIMITS.contentBytesMax - 2}`);
    expectMalformed(await say({ a: 1 }), "'data' does not fit");
    expectMalformed(await change('m', { a: 'much longer' }), "'data' does not fit");
    expect((await change('m', { a: 'less' })).status).toBe(200);
    await db.query(sql`update feeds set content_bytes = 12, message_count = ${FEED_LIMITS.messagesMax}`);
    expectMalformed(await say({}), 'has 100000 messages; that is the most');
    expect((await call(`DELETE ${at('/chat/messages/m')}`)).status).toBe(204);
    expect(await sizes()).toEqual({ messages: FEED_LIMITS.messagesMax - 1, bytes: 0 });
    expect((await say({})).status).toBe(200);
  });

  test('[FE5] a change that says when it was made gives way to a later one; without a time it is the last', async () => {
    await make('chat');
    const made = (await say({ n: 1 }, { id: 'm', timestamp: NOW_MS + 5_000 })).json;
    told = [];
    expect((await change('m', { n: 2 }, { timestamp: NOW_MS + 4_999 })).json).toEqual(made);
    expect(told).toEqual([]);
    expect((await change('m', { n: 3 })).json).toEqual({ ...made, data: { n: 3 } }); // its time does not go back
    expect((await change('m', { n: 4 }, { timestamp: NOW_MS + 5_000 })).json.data).toEqual({ n: 4 });
    expect((await change('m', { n: 5 }, { timestamp: NOW_MS + 6_000 })).json.updatedAt).toBe(NOW_MS + 6_000);
    expect(await asked('message.update', { feedId: 'chat', messageId: 'm', data: {}, updatedAt: 1 })).toEqual({
      type: 'feed-messages.updated',
      feedId: 'chat',
      messages: [{ ...made, data: { n: 5 }, updatedAt: NOW_MS + 6_000 }],
    }); // a client waits for an answer
    for (const wrong of [-1, 1.5, 1e16, '5']) expectMalformed(await change('m', {}, { timestamp: wrong }), "'timestamp'");
  });

  test('[FE6] names are of 1 to 128 characters, and each is given once', async () => {
    expect((await make('f'.repeat(128))).status).toBe(200);
    for (const wrong of ['', 'f'.repeat(129), 'a\u0000', '__proto__']) expectMalformed(await make(wrong), "'feedId'");
    await make('chat');
    expect((await make('chat')).json.error).toBe('RESOURCE_ALREADY_EXISTS');
    expect((await say({}, { id: 'm' })).status).toBe(200);
    expect((await say({ other: 1 }, { id: 'm' })).json.error).toBe('RESOURCE_ALREADY_EXISTS');
    expect(await sizes()).toBeDefined();
    expectMalformed(await say({}, { id: 'm'.repeat(129) }), "'id'");
    for (const path of ['/none', '/none/messages', '/a%00'])
      expect((await call(`GET ${at(path)}`)).json.error).toBe('RESOURCE_NOT_FOUND');
    for (const method of ['PATCH', 'DELETE'])
      expect((await call(`${method} ${at('/chat/messages/none')}`, { json: { data: {} } })).json.error).toBe(
        'RESOURCE_NOT_FOUND',
      );
  });
});

describe('what is told', () => {
  test('[FE7] changes of a feed are numbered in the order in which they were made, also of one that is made anew', async () => {
    await make('chat');
    await say({ n: 1 }, { id: 'm' });
    await change('m', { n: 2 });
    await call(`DELETE ${at('/chat/messages/m')}`);
    await call(`PATCH ${at('/chat')}`, { json: { metadata: { a: 'b' } } });
    await call(`DELETE ${at('/chat')}`);
    await make('chat');
    expect(told.map(({ message }) => message.type)).toEqual([
      'feeds.added',
      'feed-messages.added',
      'feed-messages.updated',
      'feed-messages.deleted',
      'feeds.updated',
      'feed.deleted',
      'feeds.added',
    ]);
    const numbers = told.map((news) => news.change);
    expect(numbers).toEqual([...numbers].sort((one, other) => one - other));
    const [feed, message] = [JSON.stringify(['chat']), JSON.stringify(['chat', 'm'])];
    expect(told.map(({ about }) => about)).toEqual([feed, message, message, message, feed, feed, feed]);
  });

  test('[FE7] who waits for another change of the feed gets the later number', async () => {
    await make('chat');
    await say({ n: 0 }, { id: 'm' });
    const later = await db.transaction(async (tx) => {
      await tx.query(sql`select from feeds for update`);
      const waiting = change('m', { n: 2 });
      await untilBlocked(db);
      await callerOf(feedRoutes({ ...deps, db: tx }))(`PATCH ${at('/chat/messages/m')}`, { json: { data: { n: 1 } } });
      return { waiting };
    });
    expect((await later.waiting).json.data).toEqual({ n: 2 });
    const [one, other] = told.slice(-2);
    expect(one!.message).toMatchObject({ messages: [{ data: { n: 1 } }] });
    expect(other!.change).toBeGreaterThan(one!.change);
  });

  test('[FE8] a request of a client that says nonsense is refused with the key', async () => {
    await expect(asked('feed.add', { feedId: 5 })).rejects.toMatchObject({ message: expect.stringContaining("'feedId'") });
    await expect(asked('message.add', { feedId: 'f' })).rejects.toMatchObject({ message: "Missing key 'data'." });
    const flawed = {
      kind: 'feed.add',
      requestId: 'r',
      fields: { feedId: 'f' },
      flaw: 'the key "constructor" is not allowed',
    } as const;
    await expect(answerFeedRequest(flawed, { roomId, permissions: FULL_ACCESS }, deps)).rejects.toMatchObject({
      code: 'UNPROCESSABLE_ENTITY',
      message: expect.stringContaining('constructor'),
    });
  });
});

describe('lists', () => {
  const ids = ({ json }: Answer): string[] => json.data.map(({ feedId, id }: any) => feedId ?? id);

  test('[FE9] lists are newest first, in pages, and a cursor is of its list alone', async () => {
    for (const [n, feedId] of ['a', 'b', 'c'].entries()) await make(feedId, { timestamp: NOW_MS + (n === 2 ? 0 : n) });
    const first = await call(`GET ${at('?limit=2')}`);
    expect(ids(first)).toEqual(['b', 'c']); // of one millisecond the later made comes first
    const rest = await call(`GET ${at(`?limit=2&cursor=${first.json.nextCursor}`)}`);
    expect([ids(rest), rest.json.nextCursor]).toEqual([['a'], null]);
    expectMalformed(await call(`GET ${at(`?since=1&cursor=${first.json.nextCursor}`)}`), "'cursor' is not a cursor of this list");
    expectMalformed(
      await call(`GET ${at(`/a/messages?cursor=${first.json.nextCursor}`)}`),
      "'cursor' is not a cursor of this list",
    );
    for (const limit of [0, 101]) expectMalformed(await call(`GET ${at(`?limit=${limit}`)}`), "'limit'");
  });

  test('[FE10] `since` of a back end leaves out what was made then or before; that of a client shows what was made or changed then or later', async () => {
    await make('chat', { timestamp: 1_000 });
    await make('later', { timestamp: 2_000 });
    expect(ids(await call(`GET ${at('?since=1000')}`))).toEqual(['later']);
    expect(ids(await call(`GET ${at('?since=-5')}`))).toEqual(['later', 'chat']);
    expect(ids(await call(`GET ${at('?since=99999999999999999')}`))).toEqual([]);
    const shown = async (since: number) =>
      ((await asked('feeds.fetch', { since })) as any).feeds.map(({ feedId }: any) => feedId);
    expect(await shown(2_000)).toEqual(['later']);
    await call(`PATCH ${at('/chat')}`, { json: { metadata: { a: 'b' } } });
    expect(await shown(2_000)).toEqual(['later', 'chat']);
    await say({}, { id: 'old', timestamp: 1_000 });
    await say({}, { id: 'new', timestamp: 2_000 });
    expect(ids(await call(`GET ${at('/chat/messages?since=1000')}`))).toEqual(['new']);
    const said: any = await asked('messages.fetch', { feedId: 'chat', since: 1_000 });
    expect(said.messages.map(({ id }: any) => id)).toEqual(['new', 'old']);
  });

  test('[FE11] a client finds feeds by what their metadata say, text by text', async () => {
    await make('a', { metadata: { kind: 'chat', who: 'x' } });
    await make('b', { metadata: { kind: 'chat' } });
    await make('c', { metadata: { kind: ['chat'] } });
    const found = async (metadata: object) =>
      ((await asked('feeds.fetch', { metadata })) as any).feeds.map(({ feedId }: any) => feedId);
    expect(await found({ kind: 'chat' })).toEqual(['b', 'a']);
    expect(await found({ kind: 'chat', who: 'x' })).toEqual(['a']);
    expect(await found({ other: '' })).toEqual([]);
    expect(await found({ kind: 'a\u0000' })).toEqual([]);
    await expect(asked('feeds.fetch', { metadata: { kind: 5 } })).rejects.toMatchObject({
      message: expect.stringContaining("'metadata.kind'"),
    });
  });

  test('[FE12] a page has a mebibyte of messages at most, but always one', async () => {
    await make('chat');
    for (let n = 0; n < 10; n += 1) await say({ n, text: 'x'.repeat(120_000) }, { id: `m${n}` });
    const page = await call(`GET ${at('/chat/messages?limit=10')}`);
    expect(ids(page)).toEqual(['m9', 'm8', 'm7', 'm6', 'm5', 'm4', 'm3', 'm2']);
    expect(ids(await call(`GET ${at(`/chat/messages?limit=10&cursor=${page.json.nextCursor}`)}`))).toEqual(['m1', 'm0']);
  });
});
