/** Feeds with the SDK of browsers and of back ends: what one says, the other sees without asking again. */
import { describe, expect, test } from 'vitest';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { ask } from '../support/e2e/rest.ts';
import { enter, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { backend } = server;

async function aRoom(defaultAccesses: string[] = ['*:write']): Promise<string> {
  const roomId = freshRoomId('feeds');
  await backend.createRoom(roomId, { defaultAccesses } as any);
  return roomId;
}

/** What the application of a visitor is told of feeds. */
function heardBy({ room }: Visitor): any[] {
  const heard: any[] = [];
  (room.events as any).feeds.subscribe((event: any) => heard.push(event));
  return heard;
}

const feedsOf = (visitor: Visitor): any => visitor.room;

test('[E2E-FE1] the SDK of a back end makes, reads, changes and deletes feeds and what is said in them', async () => {
  const roomId = await aRoom([]);
  const at = Date.UTC(2026, 0, 2);
  const feed = await backend.createFeed({ roomId, feedId: 'chat', metadata: { name: 'a', tags: ['x'] }, createdAt: at });
  expect(feed).toEqual({ feedId: 'chat', metadata: { name: 'a', tags: ['x'] }, createdAt: at, updatedAt: at });
  expect(await backend.getFeed({ roomId, feedId: 'chat' })).toEqual(feed);
  const changed = await backend.updateFeed({ roomId, feedId: 'chat', metadata: { name: 'b', tags: null } });
  expect(changed).toEqual({ ...feed, metadata: { name: 'b' }, updatedAt: expect.any(Number) });
  expect(changed.updatedAt).toBeGreaterThan(at);
  expect((await backend.getFeeds({ roomId })).data).toEqual([changed]);
  const data = { z: 1, a: { deep: [1.5, null, '\u0000'] } };
  const first = await backend.createFeedMessage({ roomId, feedId: 'chat', id: 'm1', data, createdAt: at });
  expect(first).toEqual({ id: 'm1', data, createdAt: at, updatedAt: at });
  const second = await backend.createFeedMessage({ roomId, feedId: 'chat', data: { n: 2 } });
  expect(second.id).toMatch(/^msg_/);
  expect((await backend.getFeedMessages({ roomId, feedId: 'chat' })).data).toEqual([second, first]);
  const edit = { roomId, feedId: 'chat', messageId: 'm1' };
  const edited = await backend.updateFeedMessage({ ...edit, data: { n: 3 }, updatedAt: at + 1 });
  expect(edited).toEqual({ ...first, data: { n: 3 }, updatedAt: at + 1 });
  expect(await backend.updateFeedMessage({ ...edit, data: { n: 4 }, updatedAt: at })).toEqual(edited); // it was changed later than that
  await backend.deleteFeedMessage(edit);
  expect((await backend.getFeedMessages({ roomId, feedId: 'chat' })).data).toEqual([second]);
  await backend.deleteFeed({ roomId, feedId: 'chat' });
  await expect(backend.getFeed({ roomId, feedId: 'chat' })).rejects.toMatchObject({ status: 404 });
  expect((await backend.getFeeds({ roomId })).data).toEqual([]);
});

describe('two browsers', () => {
  test('[E2E-FE2] what one does with feeds is done when it is told so, and reaches the other whole', async () => {
    const roomId = await aRoom();
    const [mia, tom] = [await enter(server, { roomId, userId: 'mia' }), await enter(server, { roomId, userId: 'tom' })];
    const heard = heardBy(tom);
    const next = async (type: number): Promise<any> => {
      await until(`${type} comes`, () => heard.length > 0);
      const event = heard.shift();
      expect(event.type).toBe(type);
      return event;
    };
    await feedsOf(mia).addFeed('chat', { metadata: { name: 'a' } });
    const feed = { feedId: 'chat', metadata: { name: 'a' }, createdAt: expect.any(Number), updatedAt: expect.any(Number) };
    expect((await next(501)).feeds).toEqual([feed]);
    expect((await feedsOf(tom).fetchFeeds()).feeds).toEqual([feed]);
    heard.length = 0; // the list is an event, too
    await feedsOf(mia).updateFeed('chat', { name: 'b' });
    expect((await next(502)).feeds).toEqual([{ ...feed, metadata: { name: 'b' } }]);
    await feedsOf(mia).addFeedMessage('chat', { text: 'hel' }, { id: 'm1' });
    const message = { id: 'm1', data: { text: 'hel' }, createdAt: expect.any(Number), updatedAt: expect.any(Number) };
    expect(await next(505)).toMatchObject({ feedId: 'chat', messages: [message] });
    await feedsOf(mia).updateFeedMessage('chat', 'm1', { text: 'hello' });
    expect((await next(506)).messages).toEqual([{ ...message, data: { text: 'hello' } }]);
    await feedsOf(mia).addFeedMessage('chat', { text: 'you' });
    await next(505);
    const { messages } = await feedsOf(tom).fetchFeedMessages('chat');
    expect(messages.map(({ data }: any) => data.text)).toEqual(['you', 'hello']);
    heard.length = 0;
    await feedsOf(mia).deleteFeedMessage('chat', 'm1');
    expect(await next(507)).toMatchObject({ feedId: 'chat', messageIds: ['m1'] });
    await feedsOf(mia).deleteFeed('chat');
    expect(await next(503)).toMatchObject({ feedId: 'chat' });
    expect((await feedsOf(tom).fetchFeeds()).feeds).toEqual([]);
  });

  test('[E2E-FE3] what a back end does reaches those in the room, and a reply that grows arrives in order', async () => {
    const roomId = await aRoom();
    const mia = await enter(server, { roomId, userId: 'mia' });
    const heard = heardBy(mia);
    await backend.createFeed({ roomId, feedId: 'chat' });
    await backend.createFeedMessage({ roomId, feedId: 'chat', id: 'reply', data: { text: '' } });
    const words = Array.from({ length: 30 }, (_, n) => `word${n}`);
    for (const n of words.keys())
      await backend.updateFeedMessage({
        roomId,
        feedId: 'chat',
        messageId: 'reply',
        data: { text: words.slice(0, n + 1).join(' ') },
      });
    const textsHeard = () => heard.filter(({ type }) => type === 506).map(({ messages }) => messages[0].data.text);
    await until('all of it is there', () => textsHeard().at(-1) === words.join(' '));
    const lengths = textsHeard().map((text) => text.length);
    expect(lengths).toEqual([...lengths].sort((one, other) => one - other));
  });

  test('[E2E-FE4] requests of one client are answered in order, though none waits for the one before', async () => {
    const roomId = await aRoom();
    const mia = await enter(server, { roomId, userId: 'mia' });
    const said = Array.from({ length: 20 }, (_, n) => feedsOf(mia).addFeedMessage('chat', { n }));
    await expect(Promise.allSettled(said).then((all) => all[0])).resolves.toMatchObject({ status: 'rejected' }); // there is no such feed yet
    const all = [
      feedsOf(mia).addFeed('chat'),
      ...Array.from({ length: 20 }, (_, n) => feedsOf(mia).addFeedMessage('chat', { n })),
    ];
    await Promise.all(all);
    const { data } = await backend.getFeedMessages({ roomId, feedId: 'chat' });
    expect(data.map((message: any) => message.data.n)).toEqual(Array.from({ length: 20 }, (_, n) => 19 - n));
  });
});

describe('what is refused', () => {
  test('[E2E-FE5] the SDK is told why, by codes that it knows', async () => {
    const roomId = await aRoom();
    const mia = await enter(server, { roomId, userId: 'mia' });
    const refusal = (promise: Promise<unknown>): Promise<any> =>
      promise.then(
        () => 'done',
        (error: any) => [error.context.code, error.message],
      );
    const feeds = feedsOf(mia);
    await feeds.addFeed('chat');
    expect(await refusal(feeds.addFeed('chat'))).toEqual(['FEED_ALREADY_EXISTS', expect.stringContaining('chat')]);
    expect(await refusal(feeds.addFeedMessage('other', {}))).toEqual(['FEED_NOT_FOUND', expect.stringContaining('other')]);
    expect(await refusal(feeds.fetchFeedMessages('other'))).toEqual(['FEED_NOT_FOUND', expect.any(String)]);
    expect(await refusal(feeds.updateFeedMessage('chat', 'm', {}))).toEqual(['FEED_MESSAGE_NOT_FOUND', expect.any(String)]);
    expect(await refusal(feeds.deleteFeedMessage('chat', 'm'))).toEqual(['FEED_MESSAGE_NOT_FOUND', expect.any(String)]);
    expect(await refusal(feeds.addFeed('x', { metadata: { a: 5 } }))).toEqual([
      'UNPROCESSABLE_ENTITY',
      expect.stringContaining("'metadata.a'"),
    ]);
    expect(await refusal(feeds.addFeed(''))).toEqual(['UNPROCESSABLE_ENTITY', expect.stringContaining("'feedId'")]);
    expect(await refusal(feeds.fetchFeeds({ limit: 101 }))).toEqual(['UNPROCESSABLE_ENTITY', expect.stringContaining("'limit'")]);
    expect(await refusal(feeds.fetchFeeds({ cursor: 'none' }))).toEqual([
      'UNPROCESSABLE_ENTITY',
      expect.stringContaining("'cursor'"),
    ]);
    expect(mia.room.getStatus()).toBe('connected');
  });

  test('[E2E-FE6] who may only read feeds changes none, and who may not read them hears nothing of them', async () => {
    const roomId = await aRoom([]);
    const enterAs = (userId: string, ...scopes: string[]) =>
      enterRaw(server, { roomId, userId, permissions: { [roomId]: scopes } });
    const mia = await enterAs('mia', '*:write');
    const tom = await enterAs('tom', '*:write', 'feeds:read');
    const eve = await enterAs('eve', '*:write', 'feeds:none');
    await backend.createFeed({ roomId, feedId: 'chat' });
    expect(await tom.take(501)).toMatchObject({ feeds: [{ feedId: 'chat' }] });
    tom.send({ type: 515, requestId: 'r1', feedId: 'chat', data: {} });
    expect(await tom.take(508)).toMatchObject({ requestId: 'r1', code: 'UNAUTHORIZED_ROOM_ACCESS' });
    eve.send({ type: 510, requestId: 'r2' });
    expect(await eve.take(508)).toMatchObject({ requestId: 'r2', code: 'UNAUTHORIZED_ROOM_ACCESS' });
    mia.send({ type: 515, requestId: 'r3', feedId: 'chat', data: { n: 1 } });
    expect(await tom.take(505)).toMatchObject({ messages: [{ data: { n: 1 } }] });
    mia.send({ type: 103, event: 'last' });
    await eve.take(103);
    expect(eve.inbox.filter(({ type }) => type >= 500)).toEqual([]);
  });
});

test('[E2E-FE7] a long feed is read page by page, each message once', async () => {
  const roomId = await aRoom();
  const mia = await enter(server, { roomId, userId: 'mia' });
  await backend.createFeed({ roomId, feedId: 'chat' });
  const text = 'x'.repeat(100_000); // ten of them are a page, whatever is asked for
  for (let n = 0; n < 25; n += 1)
    await backend.createFeedMessage({ roomId, feedId: 'chat', data: { n, text }, createdAt: 1_000 });
  const seen: number[] = [];
  const sizes: number[] = [];
  for (let cursor: string | undefined; seen.length < 25; ) {
    const page: any = await feedsOf(mia).fetchFeedMessages('chat', { limit: 100, cursor });
    seen.push(...page.messages.map(({ data }: any) => data.n));
    sizes.push(page.messages.length);
    cursor = page.nextCursor;
    expect(cursor === undefined).toBe(seen.length === 25);
  }
  expect(seen).toEqual(Array.from({ length: 25 }, (_, n) => 24 - n));
  expect(sizes).toEqual([10, 10, 5]);
});

test('[E2E-FE8] feeds go with their room, and follow it to another id', async () => {
  const roomId = await aRoom();
  await backend.createFeed({ roomId, feedId: 'chat' });
  await backend.createFeedMessage({ roomId, feedId: 'chat', data: { n: 1 } });
  const renamed = freshRoomId('feeds');
  await backend.updateRoomId({ currentRoomId: roomId, newRoomId: renamed });
  expect((await backend.getFeedMessages({ roomId: renamed, feedId: 'chat' })).data).toMatchObject([{ data: { n: 1 } }]);
  await backend.deleteRoom(renamed);
  const gone = await ask(server, `/v2/rooms/${encodeURIComponent(renamed)}/feeds`);
  expect([gone.status, gone.json.error]).toEqual([404, 'ROOM_NOT_FOUND']);
});
