import { beforeEach, describe, expect, test } from 'vitest';
import { liveRoutes } from '../../../src/features/live/routes.ts';
import { aDoor, type Call, callerOf, type RecordingDoor, refused } from '../call.ts';

const users = [{ type: 'user', id: null, connectionId: 3, info: {} }];
let door: RecordingDoor;
let call: Call;

beforeEach(() => {
  door = aDoor(['here'], { 'users.list': users });
  call = callerOf(liveRoutes({ rooms: door, roomExists: async (roomId) => roomId === 'here' }));
});

describe('active users', () => {
  test.each(['active-users', 'active_users'])(
    '[LV1] GET /rooms/{roomId}/%s lists connections; a missing room is 404',
    async (path) => {
      expect(await call(`GET /v2/rooms/here/${path}`)).toMatchObject({ status: 200, json: { data: users } });
      expect(refused(await call(`GET /v2/rooms/none/${path}`))).toContain('404 ROOM_NOT_FOUND');
    },
  );
});

describe('presence', () => {
  const body = {
    userId: 'bot',
    data: { busy: true },
    userInfo: { name: 'Bot', avatar: 'https://x.example/a.png', color: '#fff', team: 7 },
  };
  const set = (json: unknown, room = 'here') => call(`POST /v2/rooms/${room}/presence`, { json });
  const without = (key: string) => Object.fromEntries(Object.entries(body).filter(([name]) => name !== key));

  test('[LV2] is set for ttl seconds, 60 when not given', async () => {
    expect(await set({ ...body, ttl: 5 })).toMatchObject({ status: 204, text: '' });
    await set(body);
    const command = { type: 'presence.set', userId: 'bot', data: body.data, info: body.userInfo };
    expect(door.asked).toEqual([
      ['here', { ...command, ttlMs: 5_000 }],
      ['here', { ...command, ttlMs: 60_000 }],
    ]);
  });

  test('[LV3] row 46: a missing room is 404', async () => {
    expect(refused(await set(body, 'none'))).toContain('404 ROOM_NOT_FOUND');
  });

  test.each([
    ['row 50: no userId', without('userId'), "Missing key 'userId'."],
    ['row 50: no data', without('data'), "Missing key 'data'."],
    ['row 50: no userInfo', without('userInfo'), "Missing key 'userInfo'."],
    ['row 51: ttl 1', { ...body, ttl: 1 }, "Value at key 'ttl' must be at least 2."],
    ['row 51: ttl 3600', { ...body, ttl: 3_600 }, "Value at key 'ttl' must be at most 3599."],
    ['ttl 2.5', { ...body, ttl: 2.5 }, "Value at key 'ttl' must be an integer."],
    ['ttl "60"', { ...body, ttl: '60' }, "Value at key 'ttl' must be an integer."],
    ['row 52: data as array', { ...body, data: [] }, "Value at key 'data' must be an object."],
    ['row 52: data as string', { ...body, data: 'x' }, "Value at key 'data' must be an object."],
    ['row 53: an empty name', { ...body, userInfo: { name: '' } }, "Value at key 'userInfo.name' must not be empty."],
    [
      'row 53: an avatar that is no URI',
      { ...body, userInfo: { avatar: 'a b' } },
      "Value at key 'userInfo.avatar' must be a uri.",
    ],
    [
      'userInfo above 1,024 characters',
      { ...body, userInfo: { a: 'x'.repeat(1_017) } },
      "Value at key 'userInfo' may have at most 1024 characters as JSON.",
    ],
    ['an empty userId', { ...body, userId: '' }, "Value at key 'userId' must have 1 to 128 characters."],
    ['an unknown key', { ...body, id: 'x' }, "Value at key 'id' is not known here."],
  ])('[LV4] %s is refused', async (_, json, message) => {
    expect(refused(await set(json))).toContain(`422 UNPROCESSABLE_ENTITY ${message}`);
    expect(door.asked).toEqual([]);
  });

  test('[LV5] the edges are taken: ttl 2 and 3599, userInfo of 1,024 characters and of none', async () => {
    for (const json of [
      { ...body, ttl: 2 },
      { ...body, ttl: 3_599 },
      { ...body, userInfo: { a: 'x'.repeat(1_016) } },
      { ...body, userInfo: {} },
    ]) {
      expect((await set(json)).status).toBe(204);
    }
  });
});

describe('broadcast', () => {
  test.each(['broadcast-event', 'broadcast_event'])('[LV6] row 54: POST /rooms/{roomId}/%s takes any JSON', async (path) => {
    for (const event of [null, 0, 'x', [1], { a: { b: [] } }]) {
      door.told.length = 0;
      expect(await call(`POST /v2/rooms/here/${path}`, { json: event })).toMatchObject({ status: 204, text: '' });
      expect(door.told).toEqual([['here', { type: 'event.broadcast', from: null, event }]]);
    }
  });

  test('[LV7] wakes nobody, and row 46: is 404 when the room is missing', async () => {
    await call('POST /v2/rooms/here/broadcast-event', { json: 1 });
    expect(refused(await call('POST /v2/rooms/none/broadcast-event', { json: 1 }))).toContain('404 ROOM_NOT_FOUND');
    expect(door.asked).toEqual([]);
    expect(door.told).toHaveLength(1);
  });

  test('[LV8] rows 55 and 56: needs a body, of at most 1 MiB', async () => {
    expect(refused(await call('POST /v2/rooms/here/broadcast-event'))).toContain('422 UNPROCESSABLE_ENTITY The body is missing');
    const text = (bytes: number) => JSON.stringify('x'.repeat(bytes - 2));
    expect((await call('POST /v2/rooms/here/broadcast-event', { body: text(1_048_576) })).status).toBe(204);
    expect(refused(await call('POST /v2/rooms/here/broadcast-event', { body: text(1_048_577) }))).toContain(
      '413 PAYLOAD_TOO_LARGE',
    );
  });
});
