import { expect, test } from 'vitest';
import type { SessionsPage } from '../../src/room/shapes.ts';
import { aRoom, id, newcomer, presence, READER, say } from '../support/a-room.ts';

const list = (room: ReturnType<typeof aRoom>, after: number, limit: number): SessionsPage => {
  const [effect] = say(room, { type: 'sessions.list', after, limit });
  if (effect?.type !== 'reply') throw new Error('no reply');
  return effect.value as SessionsPage;
};

test('[CS2] connections come in the order of their numbers, with what each may and shows, page by page', () => {
  const room = aRoom('ann', newcomer('bob', { kind: 'yjs', userId: null, permissions: READER }), 'cid');
  presence(room, 'ann', { x: 1 }, -1);
  expect(list(room, -1, 2)).toEqual({
    version: room.version,
    total: 3,
    nextAfter: 2,
    sessions: [
      { connectionId: 1, kind: 'sdk', userId: 'ann', info: {}, permissions: ['room:write'], presence: { x: 1 } },
      { connectionId: 2, kind: 'yjs', userId: null, info: {}, permissions: ['room:read'], presence: null },
    ],
  });
  expect(list(room, 2, 2)).toMatchObject({ total: 3, nextAfter: null, sessions: [{ connectionId: 3 }] });
  expect(list(room, 3, 2).sessions).toEqual([]);
});

test('[CS3] one connection is closed, or all; a presence set over REST ends at once', () => {
  const room = aRoom('ann', 'bob');
  say(room, { type: 'presence.set', userId: 'bot', data: {}, info: {}, ttlMs: 60_000 });
  expect(say(room, { type: 'sessions.dismiss', connectionId: 2 })).toEqual([
    expect.objectContaining({ type: 'close', session: id('bob'), code: 'KICKED', when: 'now' }),
    { type: 'reply', value: 1, when: 'now' },
  ]);
  const effects = say(room, { type: 'sessions.dismiss', connectionId: null });
  expect(effects.filter(({ type }) => type === 'close')).toHaveLength(2);
  expect(effects).toContainEqual(expect.objectContaining({ message: { type: 'user.left', actor: 3 } }));
  expect(effects.at(-1)).toEqual({ type: 'reply', value: 3, when: 'now' });
  expect([...room.sessions.keys()]).toEqual(['ann', 'bob']); // they leave when their sockets have closed
  expect(say(room, { type: 'sessions.dismiss', connectionId: 9 })).toEqual([{ type: 'reply', value: 0, when: 'now' }]);
});
