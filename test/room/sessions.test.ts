import { expect, test } from 'vitest';
import { FULL_ACCESS, NO_PERMISSIONS } from '../../src/protocol/permissions.ts';
import { aRoom, id, join, LIMITS, messages, newcomer, READER, say } from '../support/a-room.ts';

test('[SE1] a newcomer learns its actor and who is there; the others learn of it, and nobody waits for the journal', () => {
  const room = aRoom('ann');
  const effects = join(room, newcomer('bob', { info: { name: 'Bob' } }));
  expect(effects.slice(0, 2)).toEqual([
    {
      type: 'send',
      to: { only: 'bob' },
      when: 'now',
      message: { type: 'room.state', actor: 2, scopes: ['room:write'], users: { 1: { id: 'ann', scopes: ['room:write'] } } },
    },
    {
      type: 'send',
      to: { allBut: 'bob' },
      when: 'now',
      message: { type: 'user.joined', actor: 2, user: { id: 'bob', info: { name: 'Bob' }, scopes: ['room:write'] } },
    },
  ]);
});

test('[SE2] an anonymous user has neither id nor info', () => {
  const [, joined] = join(aRoom(), newcomer('x', { userId: null }));
  expect(messages([joined!])).toEqual([{ type: 'user.joined', actor: 1, user: { scopes: ['room:write'] } }]);
});

test('[SE3] an actor number is never given twice, also after its holder left', () => {
  const room = aRoom('ann', 'bob');
  say(room, { type: 'session.leave', sessionId: id('bob') });
  join(room, newcomer('cat'));
  expect([...room.sessions.values()].map(({ actor }) => actor)).toEqual([1, 3]);
});

test('[SE4] numbers beyond the block of the claim are written down first, and told only then', () => {
  const room = aRoom('ann');
  room.numbers.next = room.numbers.reservedTo - 1;
  expect(join(room, newcomer('last')).map(({ type }) => type)).not.toContain('journal');
  const effects = join(room, newcomer('first beyond'));
  expect(effects[0]).toEqual({ type: 'journal', record: { kind: 'numbers', upTo: 2_001 } });
  expect(effects[1]).toMatchObject({ when: 'durable', message: { type: 'room.state', actor: 1_001 } });
  expect(room.version).toBe(1);
  room.version += 1; // of something else, which it need not wait for
  expect(join(room, newcomer('second beyond'))[0]).toMatchObject({ when: 'durable', upTo: 1, message: { actor: 1_002 } });
});

test('[SE5] a full room refuses one more, and takes it when somebody has left', () => {
  const people = Array.from({ length: LIMITS.connectionsMax }, (_, index) => `p${index}`);
  const room = aRoom(...people);
  expect(() => join(room, newcomer('late'))).toThrow(expect.objectContaining({ code: 'ROOM_FULL', close: 4005 }));
  say(room, { type: 'session.leave', sessionId: id('p0') });
  expect(join(room, newcomer('late'))).not.toEqual([]);
});

test('[SE13] who repeats a join that holds the last seat itself is not refused for it', () => {
  const people = Array.from({ length: LIMITS.connectionsMax }, (_, index) => `p${index}`);
  const room = aRoom(...people);
  expect(messages(join(room, newcomer('p0')))).toContainEqual({ type: 'user.left', actor: 1 });
  expect([...room.sessions.values()].map(({ userId }) => userId).sort()).toEqual(people);
});

test('[SE6] who may not read the room does not get in', () => {
  expect(() => join(aRoom(), newcomer('x', { permissions: NO_PERMISSIONS }))).toThrow(
    expect.objectContaining({ code: 'UNAUTHORIZED_ROOM_ACCESS' }),
  );
});

test('[SE7] leaving is told once, and to those who stay', () => {
  const room = aRoom('ann', 'bob');
  const leave = { type: 'session.leave', sessionId: id('bob') } as const;
  expect(say(room, leave)).toEqual([
    { type: 'send', to: { allBut: 'bob' }, when: 'now', message: { type: 'user.left', actor: 2 } },
  ]);
  expect(say(room, leave)).toEqual([]);
});

test('[SE8] lost access closes a live session; changed access acts from the next message on', () => {
  const room = aRoom('ann');
  const permit = (permissions: typeof NO_PERMISSIONS) => say(room, { type: 'session.permit', sessionId: id('ann'), permissions });
  expect(say(room, { type: 'storage.fetch', from: id('ann') })).toHaveLength(1);
  expect(permit({ ...NO_PERMISSIONS, room: 'read' })).toEqual([]);
  expect(say(room, { type: 'storage.fetch', from: id('ann') })).toEqual([]);
  expect(permit(NO_PERMISSIONS)).toEqual([
    { type: 'close', session: 'ann', code: 'UNAUTHORIZED_ROOM_ACCESS', facts: {}, when: 'now' },
  ]);
});

test('[SE12] a Yjs client that may write from now on is asked for what it has: what it typed while it might not is with it alone', () => {
  const room = aRoom(newcomer('ann', { kind: 'yjs', permissions: READER }), newcomer('bob', { permissions: READER }));
  const permit = (name: string, permissions: typeof NO_PERMISSIONS) =>
    say(room, { type: 'session.permit', sessionId: id(name), permissions }).map(
      (effect) => effect.type === 'send' && effect.message.type,
    );
  expect(permit('ann', FULL_ACCESS)).toEqual(['ydoc.question']);
  expect(permit('ann', FULL_ACCESS)).toEqual([]);
  expect(permit('ann', READER)).toEqual([]);
  expect(permit('bob', FULL_ACCESS)).toEqual([]); // it joins anew
});

test('[SE11] who may not read documents asks for them without an answer, follows none, and stays', () => {
  const room = aRoom('ann', newcomer('bob', { permissions: { ...NO_PERMISSIONS, room: 'write', comments: 'write' } }));
  expect(say(room, { type: 'storage.fetch', from: id('bob') })).toEqual([]);
  expect(say(room, { type: 'ydoc.fetch', from: id('bob'), guid: '', vector: new Uint8Array([0]) })).toEqual([]);
  expect(room.sessions.get(id('bob'))).toMatchObject({ storageAt: null, ydocs: { size: 0 } });
});

test('[SE9] a session that the room does not know is asked to come back', () => {
  expect(() => say(aRoom(), { type: 'storage.fetch', from: id('ghost') })).toThrow(
    expect.objectContaining({ code: 'ROOM_MOVED' }),
  );
});

test('[SE10] who may no longer read Storage hears no more of it; a Yjs client, which came for nothing else, is sent away', () => {
  const room = aRoom('ann', newcomer('yan', { kind: 'yjs' }));
  say(room, { type: 'storage.fetch', from: id('ann') });
  say(room, { type: 'ydoc.fetch', from: id('ann'), guid: 'sub', vector: new Uint8Array([0]) });
  const permissions = { ...NO_PERMISSIONS, room: 'read' } as const;
  expect(say(room, { type: 'session.permit', sessionId: id('ann'), permissions })).toEqual([]);
  expect(room.sessions.get(id('ann'))).toMatchObject({ storageAt: null, ydocs: { size: 0 } });
  expect(say(room, { type: 'session.permit', sessionId: id('yan'), permissions })).toMatchObject([
    { type: 'close', session: 'yan', code: 'UNAUTHORIZED_ROOM_ACCESS' },
  ]);
});
