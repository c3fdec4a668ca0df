/** How large a LiveObject may grow (supplement 1.9), as applications meet it: with real clients. */
import { LiveList, LiveMap, LiveObject } from '@liveblocks/client';
import { beforeEach, expect, test, vi } from 'vitest';
import { CODE } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { enter, rootOf, saved, storageOf, type Visitor } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
/** Clients of production builds log a rejection; others throw as well, out of a socket's handler, where nobody here could catch it. */
beforeEach(() => {
  vi.stubEnv('NODE_ENV', 'production');
  return () => vi.unstubAllEnvs();
});

const PART = 'x'.repeat(500_000);
const rejections = ({ network }: Visitor) => network.received.filter(({ type }) => type === CODE.rejected);

test('[ST37] nobody can take the ids of a client that comes later: what it makes is there, for all', async () => {
  const roomId = freshRoomId('taken');
  const thief = await enterRaw(server, { roomId, userId: 'thief' });
  thief.sendOps(
    ...[0, 1, 2, 3].map((n) => ({ type: 2, id: `${thief.actor + 1}:${n}`, parentId: 'root', parentKey: `taken${n}` })),
  );
  expect(await thief.take(CODE.rejected)).toMatchObject({ reason: expect.stringContaining('may not begin with the number') });
  const al = await enter(server, { roomId, userId: 'al' });
  expect(al.actor()).toBe(thief.actor + 1);
  const root = await rootOf(al);
  root.set('child', new LiveObject({ a: 1, deeper: new LiveObject({ b: 2 }) }));
  await saved(al);
  const made = { child: { a: 1, deeper: { b: 2 } } };
  expect(await server.backend.getStorageDocument(roomId, 'json')).toEqual(made);
  expect(await storageOf(al)).toEqual(made);
});

test('[E2E-B11] a client whose changes are longer than a frame may be is told so once, and stops', async () => {
  const al = await enter(server, {
    roomId: freshRoomId('long-frame'),
    userId: 'al',
    initialStorage: () => ({ list: new LiveList([]) }),
  });
  const list = (await rootOf(al)).get('list');
  await saved(al);
  al.room.batch(() => {
    for (let count = 0; count < 22; count += 1) list.push(PART);
  });
  await until('it has stopped', () => al.room.getStatus() === 'disconnected');
  expect(al.errors).toEqual([{ message: 'The frame is larger than 10485760 bytes.', code: 4000 }]);
  expect([al.network.dialled.length, al.network.closeCodes]).toEqual([1, [4000]]);
});

test('[ST39] who undoes the deletion of an object that is as large as may be, and as deep, stays connected', async () => {
  const roomId = await server.backend.createRoom(freshRoomId('grown'), { defaultAccesses: ['room:write'] }).then(({ id }) => id);
  const deep = JSON.parse(`${'['.repeat(31)}${']'.repeat(31)}`);
  const data = { liveblocksType: 'LiveObject', data: { child: { liveblocksType: 'LiveObject', data: { deep } } } } as const;
  await server.backend.initializeStorageDocument(roomId, data as never);
  const al = await enter(server, { roomId, userId: 'al' });
  const root = await rootOf(al);
  const keys = (from: number, to: number) => Object.fromEntries(Array.from({ length: to - from }, (_, n) => [`k${from + n}`, n]));
  for (const more of [keys(0, 6_000), keys(6_000, 9_999)]) {
    root.get('child').update(more);
    await saved(al);
  }
  root.get('child').update({ last: 1 });
  await until('the rejection has come', () => rejections(al).length > 0);
  await until('it has taken it back', () => root.get('child').get('last') === undefined);
  root.delete('child');
  await saved(al);
  al.room.history.undo();
  await saved(al);
  const { child } = (await server.backend.getStorageDocument(roomId, 'json')) as any;
  expect([child.deep, Object.keys(child).length]).toEqual([deep, 10_000]);
  expect([al.room.getStatus(), al.network.closeCodes]).toEqual(['connected', []]);
});

test('[ST29] a client whose LiveObject would grow too large takes the last change back, and all go on', async () => {
  const roomId = freshRoomId('large');
  const al = await enter(server, { roomId, userId: 'al', initialStorage: () => ({ child: new LiveObject({}) }) });
  const root = await rootOf(al);
  const bo = await enter(server, { roomId, userId: 'bo' });
  const theirs = await rootOf(bo);
  for (const key of ['a', 'b', 'c', 'd']) {
    root.set(key, PART);
    await saved(al);
  }
  root.set('e', PART);
  await until('the rejection has come', () => rejections(al).length > 0);
  expect(rejections(al)).toEqual([
    { type: CODE.rejected, opIds: [expect.any(String)], reason: expect.stringContaining('more than 2097152 characters') },
  ]);
  const full = { a: PART, b: PART, c: PART, d: PART, child: {} };
  await until('it has taken it back', async () => expect(await storageOf(al)).toEqual(full) ?? true);
  expect([await storageOf(bo), rejections(bo)]).toEqual([full, []]);
  // The key is not locked, there is room again after a deletion, and a child has room of its own.
  theirs.set('e', 'from bo');
  await until('al hears of it', () => root.get('e') === 'from bo');
  root.set('child', PART);
  await until('the next rejection has come', () => rejections(al).length > 1);
  await until('the child is back', async () => expect(await storageOf(al)).toEqual({ ...full, e: 'from bo' }) ?? true);
  theirs.get('child').set('by', 'bo');
  await until('al hears of it', () => root.get('child').get('by') === 'bo');
  root.delete('a');
  root.set('e', PART);
  root.get('child').set('a', PART);
  await saved(al);
  expect(await server.backend.getStorageDocument(roomId, 'json')).toEqual({
    b: PART,
    c: PART,
    d: PART,
    e: PART,
    child: { a: PART, by: 'bo' },
  });
  expect([rejections(al).length, al.room.getStatus()]).toEqual([2, 'connected']);
});

test('[ST40] who stores under a key that is not allowed, or too much, hears so and goes on: all else is stored', async () => {
  const roomId = freshRoomId('unfit');
  const filled = () => ({
    words: new LiveMap<string, any>(),
    list: new LiveList<any>([]),
    constructor: new LiveObject({ a: 1 }),
  });
  const al = await enter(server, { roomId, userId: 'al', initialStorage: filled as never });
  const root = await rootOf(al);
  const bo = await enter(server, { roomId, userId: 'bo' });
  await rootOf(bo);
  const deep = JSON.parse('['.repeat(40) + ']'.repeat(40));
  for (const word of ['hello', 'constructor', 'world']) root.get('words').set(word, 1);
  root.set('nested', { a: { constructor: 1 } });
  root.set('long', 'x'.repeat(2_200_000));
  root.get('list').push(deep);
  root.set('deep', deep);
  root.set('last', 1);
  al.room.updatePresence({ constructor: 1 });
  const stored = { words: { hello: 1, world: 1 }, list: [], last: 1 };
  for (const visitor of [al, bo])
    await until('all read what is stored', async () => expect(await storageOf(visitor)).toEqual(stored) ?? true);
  await saved(al);
  expect(await server.backend.getStorageDocument(roomId, 'json')).toEqual(stored);
  // The snapshot after an item makes the client send again what it has not heard of, the initial Storage, too; whose rejection brings none, so that this ends.
  const heard = rejections(al).length;
  expect([...new Set(rejections(al).map(({ reason }) => reason))]).toEqual([
    expect.stringContaining('names the key "constructor"'),
    expect.stringContaining('/data/nested/a has the key "constructor"'),
    expect.stringContaining('/data/long is longer than 2097152 characters'),
    expect.stringContaining('is nested deeper than 32'),
    expect.stringContaining('is nested deeper than 32'),
  ]);
  (await rootOf(bo)).get('words').set('hello', 2);
  await until('al hears of it', () => root.get('words').get('hello') === 2);
  expect(rejections(al).length).toBe(heard);
  await until('bo sees the presence', () => bo.room.getOthers()[0]?.presence.constructor === 1);
  expect([al.room.getStatus(), al.network.closeCodes]).toEqual(['connected', []]);
});
