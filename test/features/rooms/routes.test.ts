import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RoomWriter } from '../../../src/app/room-writer.ts';
import { systemClock } from '../../../src/base/clock.ts';
import type { RoomId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { findRoom } from '../../../src/features/rooms/queries.ts';
import { roomRoutes } from '../../../src/features/rooms/routes.ts';
import type { Sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../../src/kernel/persistence/sql-outbox.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aDoor, type Call, callerOf, type RecordingDoor, refused } from '../call.ts';

const postgres = usePostgres();
const NOW = '2031-02-03T04:05:06.007Z';

let db: Sql;
let call: Call;
let door: RecordingDoor;
let changed: string[];
let made = 0;

beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(() => {
  door = aDoor(['here']);
  changed = [];
  const accessesChanged = (roomId: string) => void changed.push(roomId);
  const roomChanged = (roomId: string) => void changed.push(`not accesses of ${roomId}`);
  call = callerOf(roomRoutes({ ...partsOf(db), nowMs: () => Date.parse(NOW), accessesChanged, roomChanged }));
});

const partsOf = (over: Sql) => ({
  db: over,
  outbox: outboxOf(over),
  rooms: door,
  writer: aWriter(over),
  findRoom: (roomId: RoomId) => findRoom(over, roomId),
});
const aWriter = (over: Sql) => new RoomWriter({ db: over, clock: systemClock });

const outboxOf = (over: Sql) => new SqlOutbox({ db: over, clock: systemClock, log: silentLog });
const freshId = () => `room-${++made}`;
const at = (id: string, rest = '') => `/v2/rooms/${encodeURIComponent(id)}${rest}`;
const create = (body: object, query = '') => call(`POST /v2/rooms${query}`, { json: body });
async function aRoom(more: object = {}): Promise<string> {
  const id = freshId();
  expect(await create({ id, defaultAccesses: ['*:read'], ...more })).toMatchObject({ status: 200 });
  return id;
}
const read = async (id: string) => (await call(`GET ${at(id)}`)).json;
const post = (id: string, json: unknown, rest = '') => call(`POST ${at(id, rest)}`, { json });

describe('create', () => {
  test('[RM50] POST /rooms answers the room', async () => {
    const answer = await create({
      id: 'board:7/ü',
      defaultAccesses: [],
      metadata: { tags: ['x'] },
      usersAccesses: { mia: ['*:write'] },
      engine: 2,
    });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      type: 'room',
      id: 'board:7/ü',
      createdAt: NOW,
      organizationId: 'default',
      metadata: { tags: ['x'] },
      defaultAccesses: [],
      usersAccesses: { mia: ['*:write'] },
      groupsAccesses: {},
    });
    expect(await read('board:7/ü')).toEqual(answer.json);
  });

  test.each([
    ['row 18: no defaultAccesses', { id: 'x' }, "Missing key 'defaultAccesses'."],
    ['row 19: no id', { defaultAccesses: [] }, "Missing key 'id'."],
    ['row 20: an empty id', { id: '', defaultAccesses: [] }, "Value at key 'id' must have 1 to 128 characters."],
    ['row 20: an id of 129', { id: 'x'.repeat(129), defaultAccesses: [] }, "Value at key 'id' must have 1 to 128 characters."],
    ['row 21: an id with an asterisk', { id: 'x*', defaultAccesses: [] }, "Value at key 'id' may not hold an asterisk."],
    [
      'row 21: an id with a control character',
      { id: 'x\n', defaultAccesses: [] },
      "Value at key 'id' may not hold control characters.",
    ],
    [
      'row 29: a number in metadata',
      { id: 'x', defaultAccesses: [], metadata: { a: 1 } },
      "Value at key 'metadata.a' must be a string or an array.",
    ],
    [
      'row 29: a mixed array',
      { id: 'x', defaultAccesses: [], metadata: { a: ['b', 1] } },
      "Value at key 'metadata.a.1' must be a string.",
    ],
    [
      'row 29: a number under a key with a line feed',
      { id: 'x', defaultAccesses: [], metadata: { 'a\nb': 1 } },
      'must be a string or an array.',
    ],
    [
      'row 30: null in metadata',
      { id: 'x', defaultAccesses: [], metadata: { a: null } },
      "Value at key 'metadata.a' must be a string or an array.",
    ],
    ['row 34: a string for a list', { id: 'x', defaultAccesses: '*:write' }, "Value at key 'defaultAccesses' must be an array."],
    [
      'row 35: an unknown permission',
      { id: 'x', defaultAccesses: ['room:admin'] },
      'Value at key \'defaultAccesses\' holds "room:admin"',
    ],
    [
      'row 36: no base',
      { id: 'x', defaultAccesses: ['comments:write'] },
      "Value at key 'defaultAccesses' needs a base permission",
    ],
    [
      'row 38: a duplicate',
      { id: 'x', defaultAccesses: ['*:read', '*:read'] },
      "Value at key 'defaultAccesses' holds a permission twice.",
    ],
    ['row 10: an unknown key', { id: 'x', defaultAccesses: [], colour: 'red' }, "Value at key 'colour' is not known here."],
    ['engine 3', { id: 'x', defaultAccesses: [], engine: 3 }, "Value at key 'engine' must be 1 or 2."],
  ])('[RM51] %s is refused', async (_, body, message) => {
    expect(refused(await create(body))).toContain(`422 UNPROCESSABLE_ENTITY `);
    expect(refused(await create(body))).toContain(message);
  });

  test('[RM52] rows 22 to 24: an existing room is a 409, unless idempotent is there and not false', async () => {
    const id = await aRoom({ metadata: { first: 'yes' } });
    const again = { id, defaultAccesses: ['*:write'], metadata: { second: 'yes' } };
    expect(refused(await create(again))).toBe(`409 ROOM_ALREADY_EXISTS The room "${id}" exists already.`);
    expect(refused(await create(again, '?idempotent=false'))).toContain('409');
    expect(refused(await create(again, '?idempotent=1'))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'idempotent' must be true or false.",
    );
    for (const query of ['?idempotent', '?idempotent=', '?idempotent=true']) {
      expect((await create(again, query)).json).toMatchObject({ metadata: { first: 'yes' }, defaultAccesses: ['*:read'] });
    }
    expect((await create({ id: freshId(), defaultAccesses: [] }, '?idempotent')).status).toBe(200);
  });

  test('[RM53] row 25: an idempotent creation with an invalid body is refused though the room exists', async () => {
    expect((await create({ id: await aRoom(), defaultAccesses: ['x'] }, '?idempotent')).status).toBe(422);
  });
});

describe('get, update, delete', () => {
  test('[RM54] row 41: a missing room is 404; the body is judged first', async () => {
    expect(refused(await call('GET /v2/rooms/none'))).toBe('404 ROOM_NOT_FOUND The room "none" does not exist.');
    expect(refused(await post('none', {}))).toContain('404 ROOM_NOT_FOUND');
    expect(refused(await post('none', { defaultAccesses: ['x'] }))).toContain('422');
  });

  test('[RM55] rows 31 to 33 and 40: null removes a key, clears a map, makes private; [] shuts one user out', async () => {
    const id = await aRoom({
      metadata: { a: '1', b: '2' },
      usersAccesses: { mia: ['*:read'], bo: ['*:read'] },
      groupsAccesses: { qa: ['*:read'] },
    });
    const answer = await post(id, {
      metadata: { a: null, none: null },
      usersAccesses: { mia: null, bo: [] },
      groupsAccesses: null,
      defaultAccesses: null,
    });
    expect(answer.json).toMatchObject({
      metadata: { b: '2' },
      usersAccesses: { bo: [] },
      groupsAccesses: {},
      defaultAccesses: [],
    });
    expect(await read(id)).toEqual(answer.json);
  });

  test('[RM56] row 27: an update beyond the limit changes nothing', async () => {
    const id = await aRoom({ metadata: Object.fromEntries(Array.from({ length: 50 }, (_, n) => [`k${n}`, 'v'])) });
    const before = await read(id);
    expect(refused(await post(id, { metadata: { k0: 'changed', more: 'v' } }))).toContain(
      "'metadata' may have at most 50 entries; it would have 51",
    );
    expect(await read(id)).toEqual(before);
  });

  test('[RM57] who has sessions in a room hears when its accesses or its organisation change, and only then; of any other change those who remember it', async () => {
    const id = await aRoom();
    await post(id, { metadata: { a: '1' } });
    await post(id, { usersAccesses: { a: ['x'] } });
    await post('none', { defaultAccesses: [] });
    expect(changed).toEqual([`not accesses of ${id}`]);
    await post(id, { defaultAccesses: [] });
    await post(id, { update: { groupsAccesses: null } }, '/upsert');
    expect(changed.slice(1)).toEqual([id, id]);
    await post(id, { update: { metadata: null } }, '/upsert');
    await post(id, { fromOrganizationId: 'default', toOrganizationId: 'other' }, '/update-organization-id');
    await post(id, { newRoomId: `${id}-renamed` }, '/update-room-id');
    await call(`DELETE ${at(`${id}-renamed`)}`);
    expect(changed.slice(3)).toEqual([`not accesses of ${id}`, id, `not accesses of ${id}`, `not accesses of ${id}-renamed`]);
  });

  test('[RM58] a names-of-prototypes body is refused', async () => {
    const answer = await call(`POST ${at(await aRoom())}`, { body: '{"metadata":{"__proto__":"x"}}' });
    expect(answer.status).toBe(422);
  });

  test('[RM59] row 45: DELETE is 204, also of a missing room; only then are clients sent away, for good', async () => {
    const id = await aRoom();
    expect(await call(`DELETE ${at(id)}`)).toMatchObject({ status: 204, text: '' });
    expect(door.told).toEqual([[id, { type: 'room.close', code: 'ROOM_NOT_FOUND', facts: { roomId: id } }]]);
    expect((await call(`DELETE ${at(id)}`)).status).toBe(204);
    expect(door.told).toHaveLength(1);
    expect((await call(`GET ${at(id)}`)).status).toBe(404);
  });

  test.each(['x'.repeat(129), 'a%00b', '%2A', '%0A'])(
    '[RM60] an id that no room can have is refused in the path: %s',
    async (id) => {
      for (const method of ['GET', 'DELETE'])
        expect(refused(await call(`${method} /v2/rooms/${id}`))).toContain("422 UNPROCESSABLE_ENTITY Value at key 'roomId'");
    },
  );

  test('[RM61] row 46: prewarm wakes the room, or is 404', async () => {
    expect((await call('GET /v2/rooms/here/prewarm')).status).toBe(204);
    expect(door.asked).toEqual([['here', { type: 'room.touch' }]]);
    expect(refused(await call('GET /v2/rooms/none/prewarm'))).toContain('404 ROOM_NOT_FOUND');
  });
});

describe('upsert', () => {
  test('[RM62] makes the room from create and update, then changes it by update alone', async () => {
    const id = freshId();
    const body = {
      update: { metadata: { a: '1' } },
      create: { defaultAccesses: ['*:write'], organizationId: 'acme', metadata: { b: '2' } },
    };
    expect((await post(id, body, '/upsert')).json).toMatchObject({
      organizationId: 'acme',
      metadata: { a: '1', b: '2' },
      defaultAccesses: ['*:write'],
    });
    await post(id, { metadata: { b: null } });
    expect((await post(id, body, '/upsert')).json).toMatchObject({ organizationId: 'acme', metadata: { a: '1' } });
  });

  test('[RM63] rows 42 to 44: update is required; a new room needs default accesses from one part, create always', async () => {
    expect(refused(await post(freshId(), {}, '/upsert'))).toContain("422 UNPROCESSABLE_ENTITY Missing key 'update'.");
    expect(refused(await post(freshId(), { update: {} }, '/upsert'))).toContain(
      "422 UNPROCESSABLE_ENTITY Missing key 'defaultAccesses'.",
    );
    expect(refused(await post(freshId(), { update: {}, create: {} }, '/upsert'))).toContain(
      "422 UNPROCESSABLE_ENTITY Missing key 'create.defaultAccesses'.",
    );
    expect((await post(freshId(), { update: { defaultAccesses: [] } }, '/upsert')).status).toBe(200);
    expect((await post(await aRoom(), { update: {} }, '/upsert')).status).toBe(200);
  });

  test('[RM64] an id in the path that no room can have makes none', async () => {
    expect(refused(await call('POST /v2/rooms/a*/upsert', { json: { update: { defaultAccesses: [] } } }))).toContain(
      "'roomId' may not hold an asterisk",
    );
  });
});

describe('another id, another organisation', () => {
  test('[RM65] update-room-id answers the room under its new id and sends clients there', async () => {
    const [id, newRoomId] = [await aRoom({ metadata: { a: '1' } }), freshId()];
    const before = await read(id);
    expect((await post(id, { newRoomId }, '/update-room-id')).json).toEqual({ ...before, id: newRoomId });
    expect(door.told).toEqual([[id, { type: 'room.close', code: 'ROOM_ID_CHANGED', facts: { newRoomId } }]]);
    expect((await call(`GET ${at(id)}`)).status).toBe(404);
  });

  test('[RM66] rows 47 and 48: not to a taken id, not to the same, not from a missing room; nobody is sent away', async () => {
    const [id, taken] = [await aRoom(), await aRoom()];
    expect(refused(await post(id, { newRoomId: taken }, '/update-room-id'))).toContain('409 ROOM_ALREADY_EXISTS');
    expect(refused(await post(id, { newRoomId: id }, '/update-room-id'))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'newRoomId' must differ",
    );
    expect(refused(await post(id, { newRoomId: 'a*' }, '/update-room-id'))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'newRoomId'",
    );
    expect(refused(await post(id, {}, '/update-room-id'))).toContain("422 UNPROCESSABLE_ENTITY Missing key 'newRoomId'.");
    expect(refused(await post('none', { newRoomId: freshId() }, '/update-room-id'))).toContain('404 ROOM_NOT_FOUND');
    expect(door.told).toEqual([]);
  });

  test('[RM67] row 49: update-organization-id moves from the present organisation only, and makes clients enter again', async () => {
    const id = await aRoom();
    const move = (fromOrganizationId: string, room = id) =>
      post(room, { fromOrganizationId, toOrganizationId: 'acme' }, '/update-organization-id');
    expect(refused(await move('wrong'))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'fromOrganizationId' is not the organisation of the room.",
    );
    expect(refused(await move('default', 'none'))).toContain('404 ROOM_NOT_FOUND');
    expect(door.told).toEqual([]);
    expect((await move('default')).json).toMatchObject({ id, organizationId: 'acme' });
    expect(door.told).toMatchObject([[id, { type: 'room.close', code: 'KICKED' }]]);
  });
});

describe('list', () => {
  test.each([
    ['row 13', 'limit=0', "Value at key 'limit' must be at least 1."],
    ['row 14', 'limit=101', "Value at key 'limit' must be at most 100."],
    ['row 15', 'limit=abc', "Value at key 'limit' must be an integer."],
    ['row 15', 'limit=1.5', "Value at key 'limit' must be an integer."],
    ['row 15', 'limit=', "Value at key 'limit' must be an integer."],
    ['row 16', 'startingAfter=garbage', "Value at key 'startingAfter' is not a cursor of this list."],
    [
      'a query of the wrong grammar',
      `query=${encodeURIComponent('metadata[t]:"x"')}`,
      "Value at key 'query' fails at column 10: expected a quoted key, found t.",
    ],
    ['a parameter given twice', 'userId=a&userId=b', "Value at key 'userId' is given more than once."],
    ['text that the database cannot hold', 'metadata.k=%00', "Value at key 'metadata.k' may not hold U+0000"],
  ])('[RM68] %s: %s is refused', async (_, query, message) => {
    expect(refused(await call(`GET /v2/rooms?${query}`))).toContain(`422 UNPROCESSABLE_ENTITY ${message}`);
  });

  test('[RM69] row 17: pages of limit, 20 when not given, to a last one whose nextCursor is null', async () => {
    const empty = await postgres.open();
    const nowMs = () => Date.parse(NOW);
    const listed = callerOf(
      roomRoutes({ ...partsOf(empty), nowMs, accessesChanged: () => undefined, roomChanged: () => undefined }),
    );
    expect((await listed('GET /v2/rooms')).json).toEqual({ nextCursor: null, data: [] });
    for (let n = 0; n < 21; n += 1) await listed('POST /v2/rooms', { json: { id: `r${n}`, defaultAccesses: [] } });
    const first = (await listed('GET /v2/rooms')).json;
    expect(first.data.map(({ id }: { id: string }) => id)).toEqual(Array.from({ length: 20 }, (_, n) => `r${20 - n}`));
    const second = (await listed(`GET /v2/rooms?startingAfter=${first.nextCursor}`)).json;
    expect(second).toMatchObject({ nextCursor: null, data: [{ id: 'r0' }] });
    expect((await listed('GET /v2/rooms?limit=21')).json).toMatchObject({ nextCursor: null });
    expect(refused(await listed(`GET /v2/rooms?userId=mia&startingAfter=${first.nextCursor}`))).toContain(
      'is a cursor of a list with other filters',
    );
  });

  test('[RM72] nextPage is a path that leads on in the same list, to a last page without one', async () => {
    for (let n = 0; n < 3; n += 1) await aRoom({ metadata: { 'of a page&': 'päge 1' }, organizationId: 'pages' });
    const seen: string[] = [];
    let path: string | undefined = '/v2/rooms?limit=1&metadata.of%20a%20page%26=p%C3%A4ge+1&tenantId=pages';
    while (path !== undefined) {
      const { status, json }: { status: number; json: any } = await call(`GET ${path}`);
      expect(status).toBe(200);
      seen.push(...json.data.map(({ id }: { id: string }) => id));
      expect(json).toEqual({
        data: json.data,
        nextCursor: seen.length < 3 ? expect.any(String) : null,
        ...(seen.length < 3 && { nextPage: expect.stringMatching(/^\/v2\/rooms\?/) }),
      });
      path = json.nextPage;
    }
    expect(new Set(seen).size).toBe(3);
  });

  test('[RM70] filters arrive from the address: query with +, metadata.KEY, groupIds with commas', async () => {
    const id = await aRoom({ metadata: { kind: 'wanted one' }, groupsAccesses: { wantedGroup: ['*:read'] } });
    const idsOf = async (query: string) =>
      (await call(`GET /v2/rooms?${query}`)).json.data.map((room: { id: string }) => room.id);
    expect(await idsOf('query=metadata%5B%22kind%22%5D%3A%22wanted+one%22')).toEqual([id]);
    expect(await idsOf('metadata.kind=wanted+one')).toEqual([id]);
    expect(await idsOf('groupIds=other,wantedGroup')).toEqual([id]);
    expect(await idsOf('groupIds=other')).toEqual([]);
  });
});
