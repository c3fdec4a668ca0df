/** What those in a room are told of its feeds, and what becomes of their requests. */
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { FeedRequest } from '../../src/protocol/feeds.ts';
import { FULL_ACCESS } from '../../src/protocol/permissions.ts';
import type { FeedAnswerMessage } from '../../src/protocol/server-messages.ts';
import { type FeedAsker, FeedDesk } from '../../src/room/feed-desk.ts';
import { decideFeedsTell } from '../../src/room/feeds.ts';
import { emptyRoom } from '../../src/room/room.ts';

describe('news', () => {
  const room = () => emptyRoom(asRoomId('r'), { from: 1, to: 1_000 });
  const news = (about: string, change: number) =>
    ({ type: 'feeds.tell', about, change, message: { type: 'feed.deleted', feedId: about } }) as const;
  const isTold = (effects: readonly { type: string }[]) => effects.some(({ type }) => type === 'send');

  test('[FE13] those who may read feeds are told, but not of what is older than what they heard of the same thing', () => {
    const state = room();
    expect(decideFeedsTell(state, news('a', 5))).toEqual([
      { type: 'send', to: { mayRead: 'feeds' }, when: 'now', message: { type: 'feed.deleted', feedId: 'a' } },
      { type: 'reply', value: null, when: 'now' },
    ]);
    expect(isTold(decideFeedsTell(state, news('a', 4)))).toBe(false);
    expect(isTold(decideFeedsTell(state, news('b', 4)))).toBe(true);
    expect(isTold(decideFeedsTell(state, news('a', 6)))).toBe(true);
  });

  test('[FE13] a room remembers the last thousand things', () => {
    const state = room();
    for (let n = 0; n < 1_500; n += 1) decideFeedsTell(state, news(`thing ${n}`, n + 1));
    expect(state.feedsTold!.size).toBe(1_000);
  });
});

describe('requests', () => {
  const request = (requestId: string, fields: object = {}): FeedRequest =>
    ({ kind: 'feed.add', requestId, fields, flaw: null }) as FeedRequest;

  function aDesk() {
    const asked: { requestId: string; answer(message: FeedAnswerMessage | null): void; fail(error: unknown): void }[] = [];
    const desk = new FeedDesk({
      answer: ({ requestId }) => new Promise((answer, fail) => asked.push({ requestId, answer, fail })),
      log: silentLog,
    });
    const sent: any[] = [];
    const asker: FeedAsker = {
      roomId: 'r',
      who: { kind: 'sdk', userId: 'u', info: null, permissions: FULL_ACCESS },
      sendNow: (frames) => sent.push(...frames.flatMap(({ data }) => JSON.parse(data as string))),
    };
    return { desk, asked, sent, asker, turn: () => new Promise((done) => setImmediate(done)) };
  }

  test('[FE14] requests of one client are answered one after the other, those of another meanwhile', async () => {
    const { desk, asked, asker, turn } = aDesk();
    desk.take(request('1'), asker);
    desk.take(request('2'), asker);
    desk.take(request('other'), { ...asker });
    expect(asked.map(({ requestId }) => requestId)).toEqual(['1', 'other']);
    asked[0]!.fail(new AppError('DATABASE_UNAVAILABLE'));
    await turn();
    expect(asked.map(({ requestId }) => requestId)).toEqual(['1', 'other', '2']);
    asked[2]!.answer(null);
    await turn();
    desk.take(request('3'), asker);
    expect(asked.at(-1)!.requestId).toBe('3');
  });

  test.each([
    [new AppError('RESOURCE_NOT_FOUND', { kind: 'feed', id: 'f' }), 'FEED_NOT_FOUND'],
    [new AppError('RESOURCE_NOT_FOUND', { kind: 'feed message', id: 'm' }), 'FEED_MESSAGE_NOT_FOUND'],
    [new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'feed', id: 'f' }), 'FEED_ALREADY_EXISTS'],
    [new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'feed message', id: 'm' }), 'RESOURCE_ALREADY_EXISTS'],
    [new AppError('DATABASE_UNAVAILABLE'), 'DATABASE_UNAVAILABLE'],
    [new Error('a bug'), 'INTERNAL'],
  ])('[FE15] a refusal is an answer with its reason: %s', async (error, code) => {
    const { desk, asked, sent, asker, turn } = aDesk();
    desk.take(request('1'), asker);
    asked[0]!.fail(error);
    await turn();
    expect(sent).toEqual([{ type: 508, requestId: '1', code, reason: expect.any(String) }]);
    expect(sent[0].reason).not.toContain('a bug');
  });

  test('[FE16] a thousand requests of a client wait, or four mebibytes; of the next it is told at once', () => {
    const [many, large] = [aDesk(), aDesk()];
    for (let n = 0; n <= 1_001; n += 1) many.desk.take(request(`${n}`), many.asker);
    expect(many.sent).toMatchObject([{ requestId: '1001', code: 'ROOM_OVERLOADED' }]);
    for (let n = 0; n <= 5; n += 1) large.desk.take(request(`${n}`, { data: 'x'.repeat(1_000_000) }), large.asker);
    expect(large.sent).toMatchObject([{ requestId: '5', code: 'ROOM_OVERLOADED' }]);
  });
});
