import { expect, test } from 'vitest';
import { v1Routes } from '../../../src/features/v1/routes.ts';
import { aDoor, callerOf, refused } from '../call.ts';

const document = { serviceType: 'LiveObject', data: { t: { serviceType: 'LiveText', data: [['x']] } } };
const user = { type: 'user', id: 'mia', connectionId: 3, info: {} };
const door = aDoor(['a/b', 'r'], {
  'storage.read': [Buffer.from(JSON.stringify(document))],
  'storage.initialize': JSON.stringify(document),
  'users.list': [user],
});
const call = callerOf(v1Routes({ rooms: door, typeKey: 'serviceType', roomExists: async (roomId) => roomId === 'asleep' }));
const shown = { serviceType: 'LiveObject', data: { t: [['x']] } };

test('[VO4] Storage is read, filled and emptied as over /v2', async () => {
  expect((await call('GET /v1/room/a%2Fb/storage')).json).toEqual(shown);
  const root = { liveblocksType: 'LiveObject', data: { a: 1 } };
  expect((await call('POST /v1/room/a%2Fb/storage', { json: root })).json).toEqual(shown);
  expect(await call('DELETE /v1/room/a%2Fb/storage')).toMatchObject({ status: 200, text: '' });
  expect(door.asked).toEqual([
    ['a/b', { type: 'storage.read', format: 'plain-lson', typeKey: 'serviceType' }],
    ['a/b', expect.objectContaining({ type: 'storage.initialize', root, typeKey: 'serviceType' })],
    ['a/b', expect.objectContaining({ type: 'storage.delete' })],
  ]);
});

test('[VO3] a document with a later kind, or none, is refused before the room is asked', async () => {
  const before = door.asked.length;
  const post = async (json: unknown) => refused(await call('POST /v1/room/missing/storage', { json }));
  expect(await post(document)).toContain("422 UNPROCESSABLE_ENTITY Value at key '/data/t/serviceType'");
  expect(await post({ data: {} })).toContain("422 UNPROCESSABLE_ENTITY Missing key 'serviceType'.");
  expect(await post({ serviceType: 'LiveList', data: {} })).toContain("Value at key 'serviceType' must be 'LiveObject'");
  expect(await post({ serviceType: 'LiveObject', data: { a: { serviceType: 'x', data: 1 } } })).toContain(
    "'/data/a/serviceType'",
  );
  expect(door.asked).toHaveLength(before);
});

test('[VO5] users are those who are connected; a room asleep has none', async () => {
  expect((await call('GET /v1/room/r/users')).json).toEqual({ data: [user] });
  expect((await call('GET /v1/room/asleep/users')).json).toEqual({ data: [] });
});

test.each([
  ['GET /v1/room/missing/storage'],
  ['POST /v1/room/missing/storage', { serviceType: 'LiveObject', data: {} }],
  ['DELETE /v1/room/missing/storage'],
  ['GET /v1/room/missing/users'],
])('[VO6] %s: a missing room is 404, an id that no room has is 422', async (line, json?: object) => {
  const sent = json === undefined ? {} : { json };
  expect(refused(await call(line, sent))).toBe('404 ROOM_NOT_FOUND The room "missing" does not exist.');
  expect(refused(await call(line.replace('missing', 'a*'), sent))).toContain("422 UNPROCESSABLE_ENTITY Value at key 'roomId'");
});
