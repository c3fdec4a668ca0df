import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { encodeForSdk } from '../../src/protocol/server-messages.ts';
import { encodeAwareness } from '../../src/protocol/yjs-frames.ts';
import { heedsTime } from '../../src/room/presence.ts';
import { decide } from '../../src/room/room.ts';
import { aRoom, at, id, join, LIMITS, messages, newcomer, presence, say } from '../support/a-room.ts';

test('[PR1] a patch goes to all others without targetActor; a full presence with it', () => {
  const room = aRoom('ann', 'bob');
  expect(presence(room, 'ann', { x: 1 })).toEqual([
    {
      type: 'send',
      to: { allBut: 'ann' },
      when: 'now',
      message: { type: 'presence', actor: 1, data: { x: 1 }, targetActor: null },
    },
  ]);
  expect(presence(room, 'ann', { x: 1 }, -1)).toMatchObject([{ to: { allBut: 'ann' }, message: { targetActor: -1 } }]);
  expect(presence(room, 'ann', { x: 1 }, 2)).toMatchObject([{ to: { only: 'bob' }, message: { targetActor: 2 } }]);
});

test('[PR2] a presence for somebody who has left goes nowhere', () => {
  expect(presence(aRoom('ann'), 'ann', { x: 1 }, 7)).toEqual([]);
});

test('[PR3] patches are merged key by key; a full presence replaces', () => {
  const room = aRoom('ann');
  presence(room, 'ann', { x: 1, y: 1 }, -1);
  presence(room, 'ann', { y: 2, z: null });
  expect(room.sessions.get(id('ann'))!.presence).toEqual({ x: 1, y: 2, z: null });
  presence(room, 'ann', { q: 1 }, -1);
  expect(room.sessions.get(id('ann'))!.presence).toEqual({ q: 1 });
});

test('[PR4] a presence of the largest size passes, one byte more is refused', () => {
  const room = aRoom('ann');
  const sized = (bytes: number) => ({ x: 'a'.repeat(bytes - '{"x":""}'.length) });
  expect(presence(room, 'ann', sized(LIMITS.presenceBytesMax))).toHaveLength(1);
  expect(() => presence(room, 'ann', sized(LIMITS.presenceBytesMax + 1))).toThrow(
    expect.objectContaining({ code: 'PAYLOAD_TOO_LARGE' }),
  );
});

test('[PR5] an event goes to all but its sender; one from REST to everybody, as actor -1', () => {
  const room = aRoom('ann');
  expect(say(room, { type: 'event.broadcast', from: id('ann'), event: 5 })[0]).toMatchObject({
    to: { allBut: 'ann' },
    message: { actor: 1, event: 5 },
  });
  expect(say(room, { type: 'event.broadcast', from: null, event: null })[0]).toMatchObject({
    to: { allBut: null },
    message: { actor: -1, event: null },
  });
});

const set = { type: 'presence.set', userId: 'bot', data: { x: 1 }, info: { name: 'Bot' }, ttlMs: 2_000 } as const;

test('[PR6] a presence set over REST is a user until its time is up, and not a moment longer', () => {
  const room = aRoom('ann');
  expect(messages(say(room, set, 1_000))).toEqual([
    { type: 'user.joined', actor: 2, user: { id: 'bot', info: { name: 'Bot' }, scopes: ['*:write'] } },
    { type: 'presence', actor: 2, data: { x: 1 }, targetActor: -1 },
  ]);
  expect(say(room, { type: 'clock.tick' }, 2_999)).toEqual([]);
  expect(messages(say(room, { type: 'clock.tick' }, 3_000))).toEqual([{ type: 'user.left', actor: 2 }]);
  expect(say(room, { type: 'clock.tick' }, 3_001)).toEqual([]);
});

test.each([-86_400_000, 86_400_000])(
  '[PR13] however the wall clock is set (%i ms), a presence set over REST ends when its time is up',
  (ms) => {
    const room = aRoom('ann');
    const tickAt = (monotonicMs: number) => decide(room, { type: 'clock.tick' }, { ...at(monotonicMs), nowMs: 1_000 + ms });
    say(room, set, 1_000);
    expect(tickAt(2_999)).toEqual([]);
    expect(messages(tickAt(3_000))).toEqual([{ type: 'user.left', actor: 2 }]);
  },
);

test('[PR7] setting it again replaces the data and restarts the time, under the same number', () => {
  const room = aRoom('ann');
  say(room, set, 1_000);
  expect(messages(say(room, { ...set, data: { y: 2 } }, 2_000))).toEqual([
    { type: 'presence', actor: 2, data: { y: 2 }, targetActor: -1 },
  ]);
  expect(say(room, { type: 'clock.tick' }, 3_999)).toEqual([]);
});

test('[PR8] who joins later is told of it too, because nobody else will', () => {
  const room = aRoom('ann');
  say(room, set, 1_000);
  const told = messages(join(room, newcomer('bob')));
  expect(told).toContainEqual({ type: 'presence', actor: 2, data: { x: 1 }, targetActor: 3 });
});

test('[PR9] active users are listed with number, id and info', () => {
  const room = aRoom(newcomer('ann', { info: { name: 'Ann' } }), newcomer('x', { userId: null }));
  expect(say(room, { type: 'users.list' })).toEqual([
    {
      type: 'reply',
      when: 'now',
      value: [
        { type: 'user', id: 'ann', connectionId: 1, info: { name: 'Ann' } },
        { type: 'user', id: null, connectionId: 2, info: {} },
      ],
    },
  ]);
});

test('[PR10] setting it again with another userInfo tells everybody the new one', () => {
  const room = aRoom('ann');
  say(room, set, 1_000);
  const told = messages(say(room, { ...set, info: { name: 'Robot' } }, 2_000));
  expect(told[0]).toEqual({ type: 'user.joined', actor: 2, user: { id: 'bot', info: { name: 'Robot' }, scopes: ['*:write'] } });
});

test('[PR11] time is heeded where it changes something: presences that end, cursors that are renewed', () => {
  const room = aRoom('ann', newcomer('bob', { kind: 'yjs' }));
  expect(heedsTime(room)).toBe(false);
  presence(room, 'ann', { __yjs_clientid: 5, __yjs: {} }, -1);
  expect(heedsTime(room)).toBe(true);
  const other = aRoom('ann');
  say(other, { type: 'presence.set', userId: 'cat', data: {}, info: {}, ttlMs: 2_000 }, 0);
  expect(heedsTime(other)).toBe(true);
  say(other, { type: 'clock.tick' }, 2_000);
  expect(heedsTime(other)).toBe(false);
});

test('[PR12] who was too slow for cursors is told of all others who have a presence, each as they are now', () => {
  const room = aRoom('ann', 'bob', newcomer('cat', { kind: 'yjs' }), 'dan');
  presence(room, 'ann', { x: 1, y: 1 }, -1);
  presence(room, 'ann', { y: 2 });
  presence(room, 'dan', { own: true }, -1);
  say(room, set, 1_000);
  const state = encodeAwareness([{ clientId: 7, clock: 1, state: { cursor: 3 } }]);
  say(room, { type: 'awareness.change', from: id('cat'), update: state });
  const toldTo = (name: string): unknown => {
    const [effect] = say(room, { type: 'presence.fetch', from: id(name) });
    if (effect?.type !== 'send' || !('only' in effect.to) || effect.message.type !== 'presences')
      throw new Error('nobody was told');
    return { to: effect.to.only, told: JSON.parse(`[${encodeForSdk(effect.message)}]`) };
  };
  const full = (actor: number, data: JsonObject) => ({ type: 100, actor, data, targetActor: -1 });
  const [ann, cat, dan, rest] = [
    full(1, { x: 1, y: 2 }),
    full(3, { __yjs_clientid: 7, __yjs: { cursor: 3 } }),
    full(4, { own: true }),
    full(5, { x: 1 }),
  ];
  expect(toldTo('dan')).toEqual({ to: 'dan', told: [ann, cat, rest] });
  expect(toldTo('bob')).toEqual({ to: 'bob', told: [ann, cat, dan, rest] });
  presence(room, 'ann', { y: 3 });
  expect(toldTo('dan')).toEqual({ to: 'dan', told: [full(1, { x: 1, y: 3 }), cat, rest] });
  expect(say(aRoom('eve'), { type: 'presence.fetch', from: id('eve') })).toEqual([]);
});
