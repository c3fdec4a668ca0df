/** The contract's table Rooms where it is about who is there now: active users, presence, events. Over HTTP. @see contract.test.ts */
import { expect, test } from 'vitest';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { CODE } from '../support/e2e/messages.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { aServer } from '../support/e2e/server.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);
const post = (path: string, json: unknown) => call(`POST ${path}`, { json });
/** For presences that are refused. */
const somewhere = await aRoom();

test.each(['active-users', 'active_users'])(
  '[contract: GET /rooms/{roomId}/active-users] [contract: Rooms rule 5] [contract: Rooms rule 8] %s lists each connection, again and again',
  async (path) => {
    const roomId = await aRoom();
    const users = async () => (await call(`GET ${at(roomId)}/${path}`)).json;
    expect(await users()).toEqual({ data: [] });
    const person = { roomId, userId: 'al', userInfo: { name: 'Al' } };
    const [one, two] = [await enterRaw(server, person), await enterRaw(server, person)];
    const user = { type: 'user', id: 'al', info: { name: 'Al' } };
    const both = { data: [one, two].map(({ actor }) => ({ ...user, connectionId: actor })) };
    expect(await users()).toEqual(both);
    expect(await users()).toEqual(both);
  },
);

const presence = {
  userId: 'bot',
  data: { busy: true },
  userInfo: { name: 'Bot', avatar: 'https://x.example/a.png', team: [7] },
};

test('[contract: POST /rooms/{roomId}/presence] [contract: Rooms rule 6] is told to who is there, and is one user however often it is set', async () => {
  const roomId = await aRoom();
  const al = await enterRaw(server, { roomId, userId: 'al' });
  const set = (json: object) => post(`${at(roomId)}/presence`, json);
  expect(await set({ ...presence, ttl: 60 })).toEqual(nothing(204));
  const { actor } = await al.take(CODE.userJoined);
  expect(await al.take(CODE.presence)).toMatchObject({ actor, data: { busy: true } });
  expect(await set({ ...presence, data: { busy: false } })).toEqual(nothing(204));
  expect(await al.take(CODE.presence)).toMatchObject({ actor, data: { busy: false } });
  const users = (await call(`GET ${at(roomId)}/active-users`)).json.data;
  expect(users).toContainEqual({ type: 'user', id: 'bot', connectionId: actor, info: presence.userInfo });
  expect(users).toHaveLength(2);
});

test('[contract: POST /rooms/{roomId}/presence] the edges pass: ttl 2 and 3,599, userInfo {}, userId of 128, data of 64 KiB', async () => {
  const roomId = await aRoom();
  const data = (bytes: number) => ({ a: 'x'.repeat(bytes - '{"a":""}'.length) });
  for (const fields of [{ ttl: 2 }, { ttl: 3_599 }, { userInfo: {} }, { userId: 'u'.repeat(128) }, { data: data(65_536) }])
    expect(await post(`${at(roomId)}/presence`, { ...presence, ...fields })).toEqual(nothing(204));
  expect(refusal(await post(`${at(roomId)}/presence`, { ...presence, data: data(65_537) }))).toContain('413 PAYLOAD_TOO_LARGE');
});

test.each<[name: string, change: object, message: string]>([
  ['row 50: no userId', { userId: undefined }, "Missing key 'userId'."],
  ['row 50: no data', { data: undefined }, "Missing key 'data'."],
  ['row 50: no userInfo', { userInfo: undefined }, "Missing key 'userInfo'."],
  ['row 51: ttl 1', { ttl: 1 }, "'ttl' must be at least 2."],
  ['row 51: ttl 3,600', { ttl: 3_600 }, "'ttl' must be at most 3599."],
  ['ttl 2.5', { ttl: 2.5 }, "'ttl' must be an integer."],
  ['ttl "60"', { ttl: '60' }, "'ttl' must be an integer."],
  ['row 52: data as array', { data: [] }, "'data' must be an object."],
  ['row 52: data as text', { data: 'x' }, "'data' must be an object."],
  ['row 53: an empty name', { userInfo: { name: '' } }, "'userInfo.name' must not be empty."],
  ['row 53: an avatar that is no URI', { userInfo: { avatar: 'a b' } }, "'userInfo.avatar' must be a uri."],
  ['userInfo of 1,025', { userInfo: { a: 'x'.repeat(1_017) } }, "'userInfo' may have at most 1024"],
  ['a userId of 129', { userId: 'u'.repeat(129) }, "'userId' must have 1 to 128 characters."],
])('[contract: POST /rooms/{roomId}/presence] %s is refused', async (_, change, message) => {
  expectMalformed(await post(`${at(somewhere)}/presence`, { ...presence, ...change }), message);
});

test.each(['broadcast-event', 'broadcast_event'])(
  '[contract: POST /rooms/{roomId}/broadcast-event] [contract: Rooms rule 7] [contract: Rooms rule 8] %s tells any JSON as connection -1 (row 54)',
  async (path) => {
    const roomId = await aRoom();
    expect(await post(`${at(roomId)}/${path}`, 'nobody hears it')).toEqual(nothing(204));
    const al = await enterRaw(server, { roomId, userId: 'al' });
    for (const event of [null, 0, 'x', false, [], [1, { a: null }], { type: 'ring' }]) {
      expect(await post(`${at(roomId)}/${path}`, event)).toEqual(nothing(204));
      expect(await al.take(CODE.event)).toEqual({ type: CODE.event, actor: -1, event });
    }
  },
);

test('[contract: POST /rooms/{roomId}/broadcast-event] rows 55 and 56: it needs a body, of at most 1 MiB', async () => {
  const url = `${at(await aRoom())}/broadcast-event`;
  const send = (body: string) => call(`POST ${url}`, { body });
  const text = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
  expect(refusal(await send(''))).toBe('422 UNPROCESSABLE_ENTITY The body is missing.');
  expect(refusal(await send('{'))).toContain('422 UNPROCESSABLE_ENTITY The body is invalid JSON');
  expect(await send(text(1_048_576))).toEqual(nothing(204));
  expect(refusal(await send(text(1_048_577)))).toBe('413 PAYLOAD_TOO_LARGE The body is larger than 1048576 bytes.');
});
