/** The contract's table Rooms and its rules, row by row, over HTTP; what is live in a room is in `contract-live.test.ts`. @see contract.test.ts */
import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { enterRaw } from '../support/e2e/raw-client.ts';
import { aServer, freshRoomId } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);

const post = (path: string, json: unknown) => call(`POST ${path}`, { json });
const read = async (roomId: string) => (await call(`GET ${at(roomId)}`)).json;
const entries = (count: number, value: unknown) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]));
const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

describe('GET /rooms', () => {
  const list = async (query: Record<string, string>) => (await call(`GET /rooms?${new URLSearchParams(query)}`)).json;
  const suffixes = ({ data }: any, prefix: string) => data.map(({ id }: any) => id.slice(prefix.length));

  test('[contract: GET /rooms] [contract: Rooms rule 1] pages of 20 rooms or of limit, newest first, until nextCursor is null (row 17)', async () => {
    const prefix = freshRoomId('pages');
    for (let n = 0; n < 21; n += 1) await post('/rooms', { id: `${prefix}${n}`, defaultAccesses: [] });
    const newestFirst = Array.from({ length: 21 }, (_, n) => String(20 - n));
    const query = `roomId^"${prefix}"`;
    const first = await list({ query });
    expect(Object.keys(first)).toEqual(['nextCursor', 'nextPage', 'data']);
    expect(suffixes(first, prefix)).toEqual(newestFirst.slice(0, 20));
    expect(first.data[0]).toEqual(await read(`${prefix}20`));
    const second = await list({ query, startingAfter: first.nextCursor });
    expect([suffixes(second, prefix), second.nextCursor]).toEqual([['0'], null]);
    expect(Object.keys(second)).toEqual(['nextCursor', 'data']);
    expect((await call(`GET ${first.nextPage.slice('/v2'.length)}`)).json).toEqual(second);
    expect((await list({ query, limit: '1' })).data).toHaveLength(1);
    const all = await list({ query, limit: '100' });
    expect([suffixes(all, prefix), all.nextCursor]).toEqual([newestFirst, null]);
    expect(await list({ query: 'roomId^"no such room "' })).toEqual({ nextCursor: null, data: [] });
    expect(refusal(await call(`GET /rooms?startingAfter=${first.nextCursor}`))).toContain(
      'a cursor of a list with other filters',
    );
  });

  test.each([
    ['row 13', 'limit=0', "'limit' must be at least 1."],
    ['row 14', 'limit=101', "'limit' must be at most 100."],
    ['row 15', 'limit=abc', "'limit' must be an integer."],
    ['row 15', 'limit=1.5', "'limit' must be an integer."],
    ['row 15', 'limit=', "'limit' must be an integer."],
    ['row 16', 'startingAfter=garbage', "'startingAfter' is not a cursor of this list."],
    ['row 16', 'startingAfter=', "'startingAfter' is not a cursor of this list."],
    ['no field', `query=${encodeURIComponent('name:"x"')}`, "'query' fails at column 1:"],
    ['a bare key', `query=${encodeURIComponent('metadata[t]:"x"')}`, "'query' fails at column 10:"],
    ['null', `query=${encodeURIComponent('metadata["c"]:null')}`, "'query' fails at column 15:"],
    ['a number', `query=${encodeURIComponent('metadata["a"]^3')}`, "'query' fails at column 15:"],
    ['OR', `query=${encodeURIComponent('roomId^"a" OR roomId^"b"')}`, "'query' fails at column 12:"],
    ['a parameter twice', 'userId=a&userId=b', "'userId' is given more than once."],
  ])('[contract: GET /rooms] %s: %s is refused', async (_, query, message) => {
    expectMalformed(await call(`GET /rooms?${query}`), message);
  });

  test('[contract: Rooms rule 2] query, metadata.KEY, userId or groupIds, and organizationId choose the rooms', async () => {
    const prefix = freshRoomId('filters');
    const mia = `mia ${prefix}`;
    const make = (id: string, fields: object) => post('/rooms', { id: `${prefix}${id}`, defaultAccesses: ['*:read'], ...fields });
    await make('a1', { metadata: { stage: 'draft', kind: 'x "y"' }, usersAccesses: { [mia]: ['*:write'] } });
    await make('a2', { metadata: { stage: 'draft', kind: ['z'] }, groupsAccesses: { [mia]: ['*:read'] } });
    await make('b1', { metadata: { stage: 'done' }, organizationId: 'acme', usersAccesses: { [mia]: [] } });
    const found = async (query: Record<string, string>) => suffixes(await list(query), prefix).sort();
    const inQuery = (clauses: string) => found({ query: `roomId^"${prefix}" ${clauses}` });

    expect(await found({ query: `roomId^"${prefix}a"` })).toEqual(['a1', 'a2']);
    expect(await found({ query: `roomId:"${prefix}a1"` })).toEqual(['a1']);
    expect(await inQuery('AND metadata["stage"]:"draft"')).toEqual(['a1', 'a2']);
    expect(await inQuery(`metadata['stage']:'draft' and metadata["kind"]:"x \\"y\\""`)).toEqual(['a1']);
    expect(await inQuery('AND metadata["stage"]^"d" AND metadata["stage"]:"done"')).toEqual(['b1']);
    expect(await inQuery('AND metadata["kind"]:"z"')).toEqual([]);
    expect(await inQuery('AND metadata["Stage"]:"draft"')).toEqual([]);
    expect(await found({ userId: mia })).toEqual(['a1']);
    expect(await found({ groupIds: `other,${mia}` })).toEqual(['a2']);
    expect(await found({ userId: mia, groupIds: mia })).toEqual(['a1', 'a2']);
    expect(await found({ userId: mia, groupIds: mia, query: `roomId:"${prefix}a2"` })).toEqual(['a2']);
    expect(await found({ 'metadata.stage': 'draft', 'metadata.kind': 'x "y"', userId: mia })).toEqual(['a1']);
    expect(await found({ organizationId: 'acme', query: `roomId^"${prefix}"` })).toEqual(['b1']);
    expect(await found({ organizationId: 'default', query: `roomId^"${prefix}"` })).toEqual(['a1', 'a2']);
  });
});

/** What a body may not say of a room, in creation, update and upsert alike; upserts name some keys with their part before them. */
const WRONG_FIELDS: readonly [name: string, fields: object, message: string][] = [
  ['row 26: 51 metadata entries', { metadata: entries(51, 'v') }, "metadata' may have at most 50 entries; it would have 51."],
  ['row 28: a metadata key of 41', { metadata: { ['k'.repeat(41)]: 'v' } }, 'must have 1 to 40 characters.'],
  ['row 28: a metadata value of 257', { metadata: { a: 'v'.repeat(257) } }, "metadata.a' must have at most 256 characters."],
  ['row 28: an item of 257', { metadata: { a: ['b', 'v'.repeat(257)] } }, "metadata.a' must have at most 256 characters."],
  ['101 items', { metadata: { a: Array(101).fill('v') } }, "metadata.a' may have at most 100 items."],
  ['row 29: a number', { metadata: { a: 1 } }, "metadata.a' must be a string"],
  ['row 29: a boolean', { metadata: { a: true } }, "metadata.a' must be a string"],
  ['row 29: an object', { metadata: { a: {} } }, "metadata.a' must be a string"],
  ['row 29: a mixed array', { metadata: { a: ['b', 1] } }, "metadata.a.1' must be a string."],
  ['row 34: text for a list', { defaultAccesses: '*:write' }, "defaultAccesses' must be an array"],
  ['row 34: text for a user', { usersAccesses: { a: '*:write' } }, "usersAccesses.a' must be an array"],
  [
    'row 35: an unknown permission',
    { defaultAccesses: ['room:admin'] },
    `holds "room:admin", which is not a permission; allowed are *:read`,
  ],
  ['row 36: no base', { groupsAccesses: { a: ['comments:write'] } }, "groupsAccesses.a' needs a base permission"],
  ['row 38: a duplicate', { defaultAccesses: ['*:read', '*:read'] }, "defaultAccesses' holds a permission twice."],
  [
    'row 39: 1,001 users',
    { usersAccesses: entries(1_001, []) },
    "usersAccesses' may have at most 1000 entries; it would have 1001.",
  ],
  ['row 39: 1,001 groups', { groupsAccesses: entries(1_001, []) }, "groupsAccesses' may have at most 1000 entries"],
  ['row 39: a user id of 257', { usersAccesses: { ['u'.repeat(257)]: [] } }, 'must have 1 to 256 characters.'],
];
const EDGES = {
  metadata: { ...entries(48, 'v'), ['k'.repeat(40)]: 'v'.repeat(256), list: Array(100).fill('v'.repeat(256)) },
  usersAccesses: { ...entries(999, []), ['u'.repeat(256)]: ['*:read', 'storage:write'] },
  groupsAccesses: { ...entries(999, ['room:read']), ['g'.repeat(256)]: ['room:write'] },
};

describe('POST /rooms', () => {
  test('[contract: POST /rooms] a room is answered as it was made, with exactly its keys, and read so', async () => {
    const id = `${freshRoomId('a/b ü')}`;
    const given = { id, defaultAccesses: ['room:write'], metadata: { stage: 'draft', tags: ['x'], none: [] } };
    const answer = await post('/rooms', { ...given, usersAccesses: { mia: [] }, engine: 2 });
    expect(answer.status).toBe(200);
    expect(answer.json).toEqual({
      type: 'room',
      ...given,
      createdAt: expect.stringMatching(ISO),
      organizationId: 'default',
      usersAccesses: { mia: [] },
      groupsAccesses: {},
    });
    expect(await read(id)).toEqual(answer.json);
  });

  test('[contract: POST /rooms] rows 22 to 25: one that exists is 409, or with idempotent answered as it is', async () => {
    const id = await aRoom({ metadata: { first: 'yes' } });
    const first = await read(id);
    const again = (query: string, fields: object = { defaultAccesses: ['*:write'] }) => post(`/rooms${query}`, { id, ...fields });
    for (const query of ['', '?idempotent=false'])
      expect(refusal(await again(query))).toBe(`409 ROOM_ALREADY_EXISTS The room "${id}" exists already.`);
    for (const query of ['?idempotent', '?idempotent=', '?idempotent=true'])
      expect(await again(query)).toMatchObject({ status: 200, json: first });
    expect(refusal(await again('?idempotent=yes'))).toContain("422 UNPROCESSABLE_ENTITY Value at key 'idempotent'");
    expect(refusal(await again('?idempotent', { defaultAccesses: ['x'] }))).toContain('422 UNPROCESSABLE_ENTITY');
    expect((await post('/rooms?idempotent', { id: freshRoomId('new'), defaultAccesses: [] })).status).toBe(200);
  });

  test('[contract: POST /rooms] ten creations at once make one room', async () => {
    const id = freshRoomId('race');
    const statuses = await Promise.all(
      Array.from({ length: 10 }, async () => (await post('/rooms', { id, defaultAccesses: [] })).status),
    );
    expect(statuses.sort()).toEqual([200, ...Array(9).fill(409)]);
  });

  test('[contract: POST /rooms] the edges pass: ids of 1 and 128 characters, and all limits of metadata and accesses', async () => {
    const id = await aRoom(EDGES);
    expect(await read(id)).toMatchObject(EDGES);
    const long = randomBytes(64).toString('hex');
    expect((await post('/rooms', { id: long, defaultAccesses: [] })).json.id).toBe(long);
    expect((await post('/rooms?idempotent', { id: 'x', defaultAccesses: [] })).json.id).toBe('x');
  });

  test.each<[name: string, body: object, message: string]>([
    ['row 18: no defaultAccesses', { id: 'x' }, "Missing key 'defaultAccesses'."],
    ['row 19: no id', { defaultAccesses: [] }, "Missing key 'id'."],
    ['row 20: an empty id', { id: '', defaultAccesses: [] }, "'id' must have 1 to 128 characters."],
    ['row 20: an id of 129', { id: 'r'.repeat(129), defaultAccesses: [] }, "'id' must have 1 to 128 characters."],
    ['row 21: an asterisk', { id: 'a*', defaultAccesses: [] }, "'id' may not hold an asterisk."],
    ['row 21: a line feed', { id: 'a\n', defaultAccesses: [] }, "'id' may not hold control characters."],
    ['row 30: null in metadata', { id: 'x', defaultAccesses: [], metadata: { a: null } }, "'metadata.a' must be a string"],
    ['engine 3', { id: 'x', defaultAccesses: [], engine: 3 }, "'engine' must be 1 or 2."],
    [
      'an empty organisation',
      { id: 'x', defaultAccesses: [], organizationId: '' },
      "'organizationId' must have 1 to 128 characters.",
    ],
    ...WRONG_FIELDS.map(
      ([name, fields, message]) => [name, { id: 'x', defaultAccesses: [], ...fields }, message] as [string, object, string],
    ),
  ])('[contract: POST /rooms] %s is refused', async (_, body, message) => {
    expectMalformed(await post('/rooms', body), message);
  });
});

/** For updates that are refused: it stays as it is. */
const unchanging = await aRoom({ metadata: { a: '1' } });

describe('one room', () => {
  test('[contract: GET /rooms/{roomId}] shows lastConnectionAt once somebody has entered', async () => {
    const roomId = await aRoom();
    expect(await read(roomId)).not.toHaveProperty('lastConnectionAt');
    await enterRaw(server, { roomId, userId: 'al' });
    expect(await until('the entry is noted', async () => (await read(roomId)).lastConnectionAt)).toMatch(ISO);
  });

  test('[contract: POST /rooms/{roomId}] [contract: Rooms rule 3] null deletes, what is not named stays (rows 31 to 33, 37 and 40)', async () => {
    const roomId = await aRoom({
      defaultAccesses: ['*:read'],
      metadata: { a: '1', b: ['2'] },
      usersAccesses: { mia: ['*:read'], bo: ['*:read'] },
      groupsAccesses: { qa: ['*:read'] },
    });
    const before = await read(roomId);
    const update = async (json: object) => (await post(at(roomId), json)).json;
    expect(await update({})).toEqual(before);
    const first = await update({
      metadata: { a: null, none: null, c: 'x' },
      usersAccesses: { mia: null, bo: [], al: ['room:write'] },
    });
    expect(first).toEqual({ ...before, metadata: { b: ['2'], c: 'x' }, usersAccesses: { bo: [], al: ['room:write'] } });
    const second = await update({ metadata: null, usersAccesses: null, groupsAccesses: { qa: null }, defaultAccesses: null });
    expect(second).toEqual({ ...before, metadata: {}, usersAccesses: {}, groupsAccesses: {}, defaultAccesses: [] });
    expect(await read(roomId)).toEqual(second);
  });

  test.each(WRONG_FIELDS)('[contract: POST /rooms/{roomId}] %s is refused, and nothing changes', async (_, fields, message) => {
    const before = await read(unchanging);
    expectMalformed(await post(at(unchanging), { defaultAccesses: ['*:write'], ...fields }), message);
    expect(await read(unchanging)).toEqual(before);
  });

  test('[contract: POST /rooms/{roomId}] rows 27 and 39: limits count what would be there after deletions', async () => {
    const roomId = await aRoom(EDGES);
    const before = await read(roomId);
    expect(refusal(await post(at(roomId), { metadata: { more: 'v' } }))).toContain('it would have 51');
    expect(refusal(await post(at(roomId), { usersAccesses: { more: [] } }))).toContain('it would have 1001');
    expect(await read(roomId)).toEqual(before);
    const swap = { metadata: { k0: null, more: 'v' }, usersAccesses: { k0: null, more: [] } };
    expect((await post(at(roomId), swap)).status).toBe(200);
  });

  test('[contract: POST /rooms/{roomId}] ten updates at once are all kept', async () => {
    const roomId = await aRoom();
    await Promise.all(Array.from({ length: 10 }, (_, n) => post(at(roomId), { metadata: { [`k${n}`]: 'v' } })));
    expect((await read(roomId)).metadata).toEqual(entries(10, 'v'));
  });

  test('[contract: DELETE /rooms/{roomId}] [contract: Room exists, delete] it is gone for good; a missing one is 204 too (row 45)', async () => {
    const roomId = await aRoom({ metadata: { a: '1' } });
    await call(`POST ${at(roomId)}/storage`, { json: { serviceType: 'LiveObject', data: { kept: false } } });
    expect(await call(`DELETE ${at(roomId)}`)).toEqual(nothing(204));
    expect(await call(`DELETE ${at(roomId)}`)).toEqual(nothing(204));
    expect(refusal(await call(`GET ${at(roomId)}`))).toContain('404 ROOM_NOT_FOUND');
    await post('/rooms', { id: roomId, defaultAccesses: [] });
    expect((await read(roomId)).metadata).toEqual({});
    expect((await call(`GET ${at(roomId)}/storage?format=json`)).json).toEqual({});
  });

  test('[contract: GET /rooms/{roomId}/prewarm] [contract: Rooms rule 4] answers 204, changes nothing, and clients enter', async () => {
    const roomId = await aRoom();
    const before = await read(roomId);
    expect(await call(`GET ${at(roomId)}/prewarm`)).toEqual(nothing(204));
    expect(await read(roomId)).toEqual(before);
    await enterRaw(server, { roomId, userId: 'al' });
  });

  test('[contract: POST /rooms/{roomId}/upsert] creates from create and update, then changes by update alone', async () => {
    const roomId = freshRoomId('upsert');
    const upsert = async (json: object) => (await post(`${at(roomId)}/upsert`, json)).json;
    const create = { defaultAccesses: ['*:read'], organizationId: 'acme', metadata: { a: 'create', b: 'create' } };
    const made = await upsert({ update: { metadata: { a: 'update' }, usersAccesses: { mia: ['*:write'] } }, create });
    expect(made).toEqual({
      type: 'room',
      id: roomId,
      createdAt: expect.stringMatching(ISO),
      organizationId: 'acme',
      metadata: { a: 'update', b: 'create' },
      defaultAccesses: ['*:read'],
      usersAccesses: { mia: ['*:write'] },
      groupsAccesses: {},
    });
    const changed = await upsert({ update: { metadata: { b: null }, usersAccesses: null }, create });
    expect(changed).toEqual({ ...made, metadata: { a: 'update' }, usersAccesses: {} });
    expect(await read(roomId)).toEqual(changed);
    expect((await post(`${at(freshRoomId('by-update'))}/upsert`, { update: { defaultAccesses: [] } })).status).toBe(200);
  });

  test.each<[name: string, body: object, message: string]>([
    ['row 42: no update', { create: { defaultAccesses: [] } }, "Missing key 'update'."],
    ['row 43: no defaultAccesses', { update: {} }, "Missing key 'defaultAccesses'."],
    ['row 43: no defaultAccesses but null', { update: { defaultAccesses: null } }, "Missing key 'defaultAccesses'."],
    ['row 44: create without them', { update: { defaultAccesses: [] }, create: {} }, "Missing key 'create.defaultAccesses'."],
    ['row 10: an unknown key', { update: { organizationId: 'x' } }, "'update.organizationId' is not known here."],
    ['row 10: an id to create', { update: {}, create: { id: 'x', defaultAccesses: [] } }, "'create.id' is not known here."],
    ...WRONG_FIELDS.flatMap(([name, fields, message]): [string, object, string][] => [
      [`${name} in update`, { update: { defaultAccesses: [], ...fields } }, message],
      [`${name} in create`, { update: {}, create: { defaultAccesses: [], ...fields } }, message],
    ]),
  ])('[contract: POST /rooms/{roomId}/upsert] %s is refused, and makes no room', async (_, body, message) => {
    const roomId = freshRoomId('upsert');
    expectMalformed(await post(`${at(roomId)}/upsert`, body), message);
    expect((await call(`GET ${at(roomId)}`)).status).toBe(404);
  });

  test('[contract: POST /rooms/{roomId}/update-room-id] the room has the new id and all it had; the old one is free', async () => {
    const [roomId, newRoomId] = [await aRoom({ metadata: { a: '1' } }), freshRoomId('renamed')];
    const before = await read(roomId);
    await call(`POST ${at(roomId)}/storage`, { json: { serviceType: 'LiveObject', data: { kept: true } } });
    const answer = await post(`${at(roomId)}/update-room-id`, { newRoomId });
    expect(answer).toMatchObject({ status: 200, json: { ...before, id: newRoomId } });
    expect(await read(newRoomId)).toEqual(answer.json);
    expect((await call(`GET ${at(newRoomId)}/storage?format=json`)).json).toEqual({ kept: true });
    expect((await call(`GET ${at(roomId)}`)).status).toBe(404);
    expect((await post('/rooms', { id: roomId, defaultAccesses: [] })).status).toBe(200);
    expect((await call(`GET ${at(roomId)}/storage?format=json`)).json).toEqual({});
  });

  test('[contract: POST /rooms/{roomId}/update-room-id] rows 47 and 48: not to a taken, the same or an impossible id', async () => {
    const [roomId, taken] = [await aRoom(), await aRoom()];
    const rename = async (json: object) => refusal(await post(`${at(roomId)}/update-room-id`, json));
    expect(await rename({ newRoomId: taken })).toBe(`409 ROOM_ALREADY_EXISTS The room "${taken}" exists already.`);
    const unprocessable = "422 UNPROCESSABLE_ENTITY Value at key 'newRoomId'";
    expect(await rename({ newRoomId: roomId })).toBe(`${unprocessable} must differ from the present ID.`);
    expect(await rename({ newRoomId: 'a*' })).toBe(`${unprocessable} may not hold an asterisk.`);
    expect(await rename({ newRoomId: 'r'.repeat(129) })).toBe(`${unprocessable} must have 1 to 128 characters.`);
    expect(await rename({})).toBe("422 UNPROCESSABLE_ENTITY Missing key 'newRoomId'.");
    expect([(await read(roomId)).id, (await read(taken)).id]).toEqual([roomId, taken]);
  });

  test('[contract: POST /rooms/{roomId}/update-organization-id] row 49: the room moves from where it is, and from nowhere else', async () => {
    const roomId = await aRoom();
    const before = await read(roomId);
    const move = (json: object) => post(`${at(roomId)}/update-organization-id`, json);
    expect(refusal(await move({ fromOrganizationId: 'other', toOrganizationId: 'acme' }))).toBe(
      "422 UNPROCESSABLE_ENTITY Value at key 'fromOrganizationId' is not the organisation of the room.",
    );
    expect(refusal(await move({ fromOrganizationId: 'default' }))).toContain(
      "422 UNPROCESSABLE_ENTITY Missing key 'toOrganizationId'.",
    );
    expect(refusal(await move({ toOrganizationId: 'acme' }))).toContain(
      "422 UNPROCESSABLE_ENTITY Missing key 'fromOrganizationId'.",
    );
    expect(refusal(await move({ fromOrganizationId: 'default', toOrganizationId: 'o'.repeat(129) }))).toContain(
      '1 to 128 characters',
    );
    const answer = await move({ fromOrganizationId: 'default', toOrganizationId: 'acme' });
    expect(answer).toMatchObject({ status: 200, json: { ...before, organizationId: 'acme' } });
    expect(await read(roomId)).toEqual(answer.json);
  });
});
