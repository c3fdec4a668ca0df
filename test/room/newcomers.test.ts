/** Copies of presences for newcomers: as many as clients ask for of small ones, so many a second of large ones. */
import { expect, test } from 'vitest';
import type { JsonObject } from '../../src/base/json.ts';
import { ALL_OTHERS } from '../../src/protocol/server-messages.ts';
import { heedsTime } from '../../src/room/presence.ts';
import { decide } from '../../src/room/room.ts';
import type { Effect, RoomState } from '../../src/room/shapes.ts';
import { aRoom, id, LIMITS, messages, newcomer, say } from '../support/a-room.ts';

const LARGE = 60_000;
/** How many copies of such a size begin within what a session may have copied in a second. */
const AT_ONCE = Math.ceil((512 * 1_024) / (LARGE + '{"x":""}'.length));

/** From ann. */
function presence(room: RoomState, data: JsonObject, targetActor: number | null, nowMs = 0): Effect[] {
  const limits = { ...LIMITS, presenceBytesMax: 65_536 };
  return decide(room, { type: 'presence.patch', from: id('ann'), data, targetActor }, { nowMs, monotonicMs: nowMs, limits });
}

function copies(room: RoomState, count: number, nowMs: number): Effect[] {
  return Array.from({ length: count }, () => presence(room, {}, 2, nowMs)).flat();
}

test('[CB47] of a small presence each copy is made at once', () => {
  const room = aRoom('ann', 'bob');
  presence(room, { x: 'a'.repeat(1_000) }, ALL_OTHERS);
  expect(copies(room, 2_000, 0)).toHaveLength(2_000);
  expect(heedsTime(room)).toBe(false);
});

test('[CB47] of a large one some copies are made in a second; who is to hear it still hears it once, as it is at the next tick', () => {
  const room = aRoom('ann', 'bob', 'cat');
  presence(room, { x: 'a'.repeat(LARGE) }, ALL_OTHERS);
  expect(copies(room, 2_000, 100)).toHaveLength(AT_ONCE);
  expect(presence(room, {}, 3, 1_099)).toEqual([]);
  expect(heedsTime(room)).toBe(true);
  presence(room, { x: 'later' }, null, 1_099);
  const effects = say(room, { type: 'clock.tick' }, 1_100);
  const texts = ['{"type":100,"actor":1,"data":{"x":"later"},"targetActor":-1}'];
  expect(effects.map((effect) => (effect.type === 'send' ? effect.to : null))).toEqual([{ only: 'bob' }, { only: 'cat' }]);
  expect(messages(effects)).toEqual([
    { type: 'presences', texts },
    { type: 'presences', texts },
  ]);
  expect(heedsTime(room)).toBe(false);
  expect(say(room, { type: 'clock.tick' }, 1_101)).toEqual([]);
});

test('[CB47] a second later large copies are made at once again, and another session has its own', () => {
  const room = aRoom('ann', 'bob');
  presence(room, { x: 'a'.repeat(LARGE) }, ALL_OTHERS);
  expect(copies(room, 100, 0)).toHaveLength(AT_ONCE);
  expect(say(room, { type: 'presence.patch', from: id('bob'), data: { y: 1 }, targetActor: 1 })).toHaveLength(1);
  expect(copies(room, 100, 1_000)).toHaveLength(AT_ONCE);
});

test('[CB47] who leaves before the tick neither hears of others nor is heard of', () => {
  const room = aRoom('ann', 'bob', 'cat');
  presence(room, { x: 'a'.repeat(LARGE) }, ALL_OTHERS);
  copies(room, AT_ONCE + 1, 0);
  expect(presence(room, {}, 3)).toEqual([]);
  say(room, { type: 'session.leave', sessionId: id('bob') });
  expect(messages(say(room, { type: 'clock.tick' }))).toHaveLength(1);
  expect(presence(room, {}, 3)).toEqual([]);
  say(room, { type: 'session.leave', sessionId: id('ann') });
  expect(say(room, { type: 'clock.tick' })).toEqual([]);
});

test('[CB47] whose rights changed before the tick is heard of all the same', () => {
  const room = aRoom('ann', 'bob', 'cat');
  presence(room, { x: 'a'.repeat(LARGE) }, ALL_OTHERS);
  copies(room, AT_ONCE + 1, 0);
  say(room, { type: 'session.permit', sessionId: id('ann'), permissions: { ...room.sessions.get(id('ann'))!.permissions } });
  expect(messages(say(room, { type: 'clock.tick' })).map((message) => (message as { type: string }).type)).toEqual(['presences']);
});

test('[CB47] one tick tells some eight million characters, the next goes on', () => {
  const room = aRoom('ann', 'bob');
  const limits = { ...LIMITS, connectionsMax: 400 };
  const names = Array.from({ length: 300 }, (_, n) => `p${n}`);
  for (const name of names)
    decide(room, { type: 'session.join', newcomer: newcomer(name) }, { nowMs: 0, monotonicMs: 0, limits });
  presence(room, { x: 'a'.repeat(LARGE) }, ALL_OTHERS);
  copies(room, AT_ONCE, 0);
  for (const n of names.keys()) presence(room, {}, n + 3);
  const heard = [1, 2, 3, 4].map(() => say(room, { type: 'clock.tick' }).map((effect) => effect.type === 'send' && effect.to));
  expect(heard.map((to) => to.length)).toEqual([140, 140, 20, 0]);
  expect(new Set(heard.flat().map((to) => JSON.stringify(to))).size).toBe(300);
});
