import { expect, test } from 'vitest';
import { asSessionId } from '../../src/base/ids.ts';
import { RoomWatch, type RoomWatcher, type Visit } from '../../src/room/room-watch.ts';
import type { Command, Effect, RoomState } from '../../src/room/shapes.ts';
import { aRoom, id, newcomer, say } from '../support/a-room.ts';

interface Told {
  readonly watcher: RoomWatcher;
  readonly heard: string[];
}
function aWatcher(wantsChanges = true): Told {
  const heard: string[] = [];
  const line = (sign: string, { key, connectionId, userId }: Visit) => void heard.push(`${sign}${userId} ${connectionId} ${key}`);
  const watcher: RoomWatcher = {
    wantsChanges,
    opened: () => void heard.push('opened'),
    closed: () => void heard.push('closed'),
    changed: (_, document) => void heard.push(document),
    entered: (_, visit) => line('+', visit),
    left: (_, visit) => line('-', visit),
  };
  return { watcher, heard };
}

/** Decides and shows the watch what came of it, as the room's actor does. */
function doing(room: RoomState, watch: RoomWatch) {
  return (command: Command): readonly Effect[] => {
    const effects = say(room, command);
    watch.decided(effects);
    return effects;
  };
}
const op = (n: number): Command => ({
  type: 'storage.change',
  from: id('ann'),
  ops: [{ type: 3, opId: `1:${n}`, id: 'root', data: { n } } as never],
});
const join = (name: string, more = {}): Command => ({ type: 'session.join', newcomer: newcomer(name, more) });
const leave = (name: string): Command => ({ type: 'session.leave', sessionId: asSessionId(name) });

test('[RW1] a change is told once it is durable, and several of one entry once', () => {
  const { watcher, heard } = aWatcher();
  const room = aRoom('ann');
  const watch = new RoomWatch(watcher, room);
  const act = doing(room, watch);
  act(op(1));
  act(op(2));
  expect([heard, room.version]).toEqual([['opened'], 2]);
  watch.durable(1);
  expect(heard).toEqual(['opened', 'storage']);
  watch.durable(2);
  expect(heard).toEqual(['opened', 'storage', 'storage']);
  watch.durable(2);
  act({ type: 'storage.delete' });
  act({ type: 'presence.patch', from: id('ann'), data: { x: 1 }, targetActor: null });
  watch.durable(3);
  expect(heard).toEqual(['opened', 'storage', 'storage', 'storage']);
});

test('[RW1] what nobody wants to know is not looked at', () => {
  const { watcher, heard } = aWatcher(false);
  const room = aRoom('ann');
  const watch = new RoomWatch(watcher, room);
  const act = doing(room, watch);
  const untouchable = new Proxy([], {
    get: () => {
      throw new Error('the effects were looked at');
    },
  }) as unknown as readonly Effect[];
  watch.decided(untouchable);
  act(op(1));
  watch.durable(1);
  expect(heard).toEqual(['opened']);
});

test('[RW1] what an owner before left in the journal is told when the room wakes', () => {
  const { watcher, heard } = aWatcher();
  new RoomWatch(watcher, aRoom()).replayed(new Set(['storage.ops', 'storage.reset', 'numbers', 'ydoc.update'] as const));
  expect(heard).toEqual(['opened', 'storage', 'ydoc']);
});

test('[RW2] who comes and goes is told from the moment that somebody wants to know; a presence set over REST is nobody', () => {
  const { watcher, heard } = aWatcher();
  const room = aRoom('ann');
  const watch = new RoomWatch(watcher, room);
  const act = doing(room, watch);
  act(join('bob'));
  watch.watchVisits('on');
  act(join('cat'));
  act(leave('ann'));
  act({ type: 'presence.set', userId: 'bot', data: {}, info: {}, ttlMs: 60_000 });
  act(leave('nobody'));
  expect(heard).toEqual(['opened', '+cat 3 cat', '-ann 1 ann']);
  expect(watch.visits().map(({ key }) => key)).toEqual(['bob', 'cat']);
  watch.watchVisits('off');
  act(leave('bob'));
  watch.close();
  expect(heard).toEqual(['opened', '+cat 3 cat', '-ann 1 ann', 'closed']);
});

test('[RW3] who joins anew over the same socket is the same visitor, and does not leave with the former session', () => {
  const { watcher, heard } = aWatcher();
  const room = aRoom();
  const watch = new RoomWatch(watcher, room);
  const act = doing(room, watch);
  watch.watchVisits('on');
  act(join('a1', { userId: 'ann', visit: 'a1' }));
  act(join('a2', { userId: 'ann', visit: 'a1' }));
  act(leave('a1'));
  expect(heard).toEqual(['opened', '+ann 1 a1', '+ann 2 a1']);
  act(leave('a2'));
  expect(heard.at(-1)).toBe('-ann 2 a1');
});
