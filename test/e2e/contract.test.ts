/**
 * The contract over HTTP, row by row: statuses, exact bodies, every error code, both sides of every limit. Here is what all rows have in
 * common, and Tokens; Rooms, Storage and Yjs are in the other files that begin with `contract-`.
 *
 * What stands in brackets names a row or a rule of `api.md`, `row N` an edge case of the supplement's section 7. What clients see live of all
 * this is in the other files of this folder.
 */
import { describe, expect, test } from 'vitest';
import { at, contractOf, expectMalformed, refusal } from '../support/e2e/contract.ts';
import { dial, enterRaw } from '../support/e2e/raw-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';

/** Small, so that the edge is cheap to reach; an external server has its default. */
const BODY_BYTES_MAX = isExternal ? 10_485_760 : 1_048_576;
const server = await aServer({ BODY_BYTES_MAX: String(BODY_BYTES_MAX), STORAGE_TYPE_KEY: 'serviceType' });
const { call, aRoom } = contractOf(server);

const post = (path: string, json: unknown) => call(`POST ${path}`, { json });
const entries = (count: number, value: unknown) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, value]));

type Request = Parameters<typeof call>[1];
/** Every row of Tokens, Rooms, Storage and Yjs, with a request that passes, were the room there. */
const ROWS: readonly [row: string, request?: Request][] = [
  ['POST /authorize-user', { json: { userId: 'u', permissions: {} } }],
  ['POST /identify-user', { json: { userId: 'u' } }],
  ['GET /rooms'],
  ['POST /rooms', { json: { id: 'x', defaultAccesses: [] } }],
  ['GET /rooms/{roomId}'],
  ['POST /rooms/{roomId}', { json: {} }],
  ['DELETE /rooms/{roomId}'],
  ['GET /rooms/{roomId}/prewarm'],
  ['POST /rooms/{roomId}/upsert', { json: { update: {} } }],
  ['POST /rooms/{roomId}/update-room-id', { json: { newRoomId: 'y' } }],
  ['POST /rooms/{roomId}/update-organization-id', { json: { fromOrganizationId: 'a', toOrganizationId: 'b' } }],
  ['GET /rooms/{roomId}/active-users'],
  ['GET /rooms/{roomId}/active_users'],
  ['POST /rooms/{roomId}/presence', { json: { userId: 'u', data: {}, userInfo: {} } }],
  ['POST /rooms/{roomId}/broadcast-event', { json: 1 }],
  ['POST /rooms/{roomId}/broadcast_event', { json: 1 }],
  ['GET /rooms/{roomId}/storage'],
  ['POST /rooms/{roomId}/storage', { json: { serviceType: 'LiveObject', data: {} } }],
  ['DELETE /rooms/{roomId}/storage'],
  ['PATCH /rooms/{roomId}/storage/json-patch', { json: [] }],
  ['GET /rooms/{roomId}/ydoc'],
  ['PUT /rooms/{roomId}/ydoc', { body: new Uint8Array([0, 0]), contentType: 'application/octet-stream' }],
  ['GET /rooms/{roomId}/ydoc-binary'],
];
/** Rows that have an answer for a room that is not there, or for none. */
const NEED_NO_ROOM = [
  'POST /authorize-user',
  'POST /identify-user',
  'GET /rooms',
  'POST /rooms',
  'DELETE /rooms/{roomId}',
  'POST /rooms/{roomId}/upsert',
];
const callRow = (row: string, roomId: string, request: Request = {}) =>
  call(row.replace('{roomId}', encodeURIComponent(roomId)), request);

const isObject = (value: unknown) => typeof value === 'object' && !Array.isArray(value);

describe('errors of every row', () => {
  const missing = freshRoomId('missing');

  test.each(ROWS)(
    '[contract: Errors] [contract: Authentication rule 1] rows 1 to 4: %s answers nobody without the secret key',
    async (row, request) => {
      const as = async (bearer: string | null) =>
        refusal(await callRow(row, missing, { ...request, bearer }))
          .split(' ', 2)
          .join(' ');
      const [method, path] = row.replace('{roomId}', 'x').split(' ');
      const basic = await fetch(`${server.url}/v2${path}`, { method: method!, headers: { authorization: 'Basic c2tfeDo=' } });
      expect([basic.status, ((await basic.json()) as any).error]).toEqual([401, 'MISSING_SECRET_KEY']);
      expect(await as(null)).toBe('401 MISSING_SECRET_KEY');
      expect(await as('')).toBe('401 MISSING_SECRET_KEY');
      expect(await as(server.publicKey)).toBe('401 WRONG_KEY_USED');
      expect(await as('sk_unknown')).toBe('403 INVALID_SECRET_KEY');
      expect(await as(`${server.secretKey}x`)).toBe('403 INVALID_SECRET_KEY');
      expect(await as(await accessTokenFor(server, { userId: 'u' }))).toBe('403 INVALID_SECRET_KEY');
    },
  );

  test.each(ROWS.filter(([row]) => !NEED_NO_ROOM.includes(row)))(
    '[contract: Errors] rows 41, 46 and 78: %s of a missing room is 404',
    async (row, request) => {
      expect(refusal(await callRow(row, missing, request))).toBe(`404 ROOM_NOT_FOUND The room "${missing}" does not exist.`);
    },
  );

  test.each(ROWS.filter(([row]) => row.includes('{roomId}')))(
    '[contract: Errors] rows 20 and 21: %s refuses an id that no room can have',
    async (row, request) => {
      const judge = async (id: string) => refusal(await callRow(row, id, request));
      const key = "422 UNPROCESSABLE_ENTITY Value at key 'roomId'";
      expect(await judge('r'.repeat(129))).toBe(`${key} must have 1 to 128 characters.`);
      expect(await judge('a*')).toBe(`${key} may not hold an asterisk.`);
      expect(await judge('a\u0007')).toBe(`${key} may not hold control characters.`);
      expect(await judge('__proto__')).toBe(`${key} is a name that may not be used.`);
    },
  );

  test('[contract: Errors] row 5: an unknown route is 404, with a key and without', async () => {
    for (const bearer of [server.secretKey, null])
      expect(refusal(await call('GET /nowhere', { bearer }))).toBe('404 NOT_FOUND There is no route GET /v2/nowhere.');
    expect(refusal(await call('GET /rooms/x/storage/y'))).toContain('404 NOT_FOUND');
  });

  test.each([
    ['DELETE /rooms', 'GET, POST'],
    ['PUT /rooms/x', 'GET, POST, DELETE'],
    ['GET /authorize-user', 'POST'],
    ['POST /rooms/x/prewarm', 'GET'],
    ['PUT /rooms/x/storage', 'GET, POST, DELETE'],
    ['POST /rooms/x/storage/json-patch', 'PATCH'],
    ['DELETE /rooms/x/ydoc', 'GET, PUT'],
  ])('[contract: Errors] row 6: %s is 405 and names %s', async (request, allow) => {
    const answer = await call(request);
    expect(refusal(answer)).toContain('405 METHOD_NOT_ALLOWED');
    expect(answer.headers.get('allow')).toBe(allow);
  });

  const closed = ROWS.filter(([, request]) => isObject(request?.json));
  test.each(closed)('[contract: Errors] rows 7 to 11: %s refuses what is no object of its keys', async (row, request) => {
    const judge = async (request: object, roomId = missing) => refusal(await callRow(row, roomId, request));
    const unprocessable = '422 UNPROCESSABLE_ENTITY';
    expect(await judge({ body: '{"a":1,}' })).toBe(`${unprocessable} The body is invalid JSON at offset 7.`);
    for (const wrong of ['[]', '"text"', 'null', '7'])
      expect(await judge({ body: wrong })).toBe(`${unprocessable} The body must be an object.`);
    expect(await judge({ body: '' })).toMatch(/^422 UNPROCESSABLE_ENTITY (Missing key '\w+'|The body is missing)\.$/);
    expect(await judge({ json: { ...(request?.json as object), colour: 'red' } }, await aRoom())).toMatch(
      /^422 UNPROCESSABLE_ENTITY .*'\/?colour'/,
    );
    expect(await judge({ body: '<a>1</a>', contentType: 'application/xml' })).toContain('415 UNSUPPORTED_MEDIA_TYPE');
  });

  test('[contract: Errors] a JSON body of the limit is read, one byte more is 413', async () => {
    const body = (bytes: number) => ({ body: JSON.stringify('x'.repeat(bytes - 2)) });
    expect(refusal(await call('POST /rooms', body(BODY_BYTES_MAX)))).toContain('422 UNPROCESSABLE_ENTITY The body must be');
    expect(refusal(await call('POST /rooms', body(BODY_BYTES_MAX + 1)))).toBe(
      `413 PAYLOAD_TOO_LARGE The body is larger than ${BODY_BYTES_MAX} bytes.`,
    );
  });
});

describe('Tokens', () => {
  const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
  const stateOf = async (roomId: string, token: string) => JSON.parse((await enterRaw(server, { roomId, token })).texts[0]!);
  const isRefused = async (roomId: string, token: string) => (await (await dial(server, { roomId, token })).closed).code === 4001;

  test('[contract: POST /authorize-user] [contract: Authentication rule 2] [contract: Authentication rule 4] the token, and nothing else, opens the rooms it names as far as it says', async () => {
    const prefix = freshRoomId('authorize');
    const permissions = { [`${prefix}:exact`]: ['*:write'], [`${prefix}:all:*`]: ['*:read', 'comments:write'] };
    const answer = await post('/authorize-user', { userId: 'u-17', userInfo: { name: 'Al' }, permissions });
    expect({ status: answer.status, keys: Object.keys(answer.json) }).toEqual({ status: 200, keys: ['token'] });
    const { token } = answer.json;
    expect(claimsOf(token)).toMatchObject({ k: 'acc', uid: 'u-17', ui: { name: 'Al' }, perms: permissions });
    expect((await stateOf(`${prefix}:exact`, token)).scopes).toEqual(['room:write']);
    expect((await stateOf(`${prefix}:all:7`, token)).scopes).toEqual(['room:read', 'comments:write']);
    expect(await isRefused(`${prefix}:exact:no`, token)).toBe(true);
    expect((await call(`GET ${at(`${prefix}:exact`)}/active-users`)).json).toEqual({
      data: [{ type: 'user', id: 'u-17', connectionId: expect.any(Number), info: { name: 'Al' } }],
    });
  });

  test('[contract: POST /authorize-user] the token of an organisation opens rooms of that one only', async () => {
    const [roomId, here] = [await aRoom({ organizationId: 'acme' }), await aRoom()];
    const { token } = (await post('/authorize-user', { userId: 'u', permissions: { '*': ['*:write'] }, organizationId: 'acme' }))
      .json;
    expect((await stateOf(roomId, token)).scopes).toEqual(['room:write']);
    expect(await isRefused(here, token)).toBe(true);
  });

  const userInfo = (length: number) => ({ a: 'x'.repeat(length - '{"a":""}'.length) });
  const ten = entries(10, ['*:read']);

  test('[contract: POST /authorize-user] the edges pass: 10 entries, 128 characters of user and room, 1,024 of userInfo, *', async () => {
    for (const body of [
      { userId: 'u', permissions: ten },
      { userId: 'u'.repeat(128), permissions: { '*': ['*:write'] } },
      { userId: 'u', permissions: { ['r'.repeat(128)]: ['room:write', 'storage:none'], [`${'r'.repeat(128)}*`]: ['room:read'] } },
      { userId: 'u', permissions: {}, userInfo: userInfo(1_024) },
    ])
      expect((await post('/authorize-user', body)).status).toBe(200);
  });

  test.each<[name: string, body: object, message: string]>([
    ['row 9: no userId', { permissions: {} }, "Missing key 'userId'."],
    ['row 9: no permissions', { userId: 'u' }, "Missing key 'permissions'."],
    [
      'row 116: 11 entries',
      { userId: 'u', permissions: { ...ten, more: ['*:read'] } },
      "'permissions' may have at most 10 entries.",
    ],
    ['row 117: *x', { userId: 'u', permissions: { '*x': ['*:read'] } }, "Value at key 'permissions.*x' must be a room ID"],
    ['row 117: a*b', { userId: 'u', permissions: { 'a*b': ['*:read'] } }, "Value at key 'permissions.a*b' must be a room ID"],
    ['row 117: a**', { userId: 'u', permissions: { 'a**': ['*:read'] } }, "Value at key 'permissions.a**' must be a room ID"],
    ['row 118: an empty userId', { userId: '', permissions: {} }, "Value at key 'userId' must not be empty."],
    ['row 118: a userId of 129', { userId: 'u'.repeat(129), permissions: {} }, "'userId' must have at most 128 characters."],
    [
      'row 118: userInfo of 1,025',
      { userId: 'u', permissions: {}, userInfo: userInfo(1_025) },
      "'userInfo' may have at most 1024",
    ],
    ['a room id of 129', { userId: 'u', permissions: { ['r'.repeat(129)]: ['*:read'] } }, 'must be a room ID'],
    ['row 34: text for a list', { userId: 'u', permissions: { a: '*:read' } }, "'permissions.a' must be an array."],
    ['row 35: an unknown permission', { userId: 'u', permissions: { a: ['room:fly'] } }, `'permissions.a' holds "room:fly"`],
    ['row 36: no base', { userId: 'u', permissions: { a: ['storage:read'] } }, "'permissions.a' needs a base permission"],
    ['an empty list', { userId: 'u', permissions: { a: [] } }, "'permissions.a' needs a base permission"],
    ['userInfo that is a list', { userId: 'u', permissions: {}, userInfo: [] }, "Value at key 'userInfo' must be an object."],
  ])('[contract: POST /authorize-user] %s is refused', async (_, body, message) => {
    expectMalformed(await post('/authorize-user', body), message);
  });

  test('[contract: POST /identify-user] [contract: Authentication rule 3] the token, and nothing else, opens what the room gives its groups and its user', async () => {
    const roomId = await aRoom({ usersAccesses: { mia: ['*:write'] }, groupsAccesses: { qa: ['*:read'] } });
    const tokenOf = async (userId: string, groupIds?: string[]) => {
      const answer = await post('/identify-user', { userId, userInfo: { name: 'N' }, ...(groupIds && { groupIds }) });
      expect({ status: answer.status, keys: Object.keys(answer.json) }).toEqual({ status: 200, keys: ['token'] });
      return answer.json.token;
    };
    const token = await tokenOf('mia', ['qa']);
    expect(claimsOf(token)).toMatchObject({ k: 'id', uid: 'mia', gids: ['qa'], ui: { name: 'N' } });
    expect(claimsOf(token)).not.toHaveProperty('perms');
    expect((await stateOf(roomId, token)).scopes).toEqual(['room:write']);
    expect((await stateOf(roomId, await tokenOf('bo', ['other', 'qa']))).scopes).toEqual(['room:read']);
    expect(await isRefused(roomId, await tokenOf('bo'))).toBe(true);
    await post(at(roomId), { usersAccesses: { mia: [] } });
    expect(await isRefused(roomId, token)).toBe(true);
  });

  test.each<[name: string, body: object, message: string]>([
    ['row 9: no userId', {}, "Missing key 'userId'."],
    ['row 118: a userId of 129', { userId: 'u'.repeat(129) }, "'userId' must have at most 128 characters."],
    ['row 118: userInfo of 1,025', { userId: 'u', userInfo: userInfo(1_025) }, "'userInfo' may have at most 1024"],
    ['text for groupIds', { userId: 'u', groupIds: 'qa' }, "Value at key 'groupIds' must be an array."],
    ['a group id of 257', { userId: 'u', groupIds: ['g'.repeat(257)] }, "'groupIds.0' must have 1 to 256 characters."],
    ['101 groups', { userId: 'u', groupIds: Object.keys(entries(101, 1)) }, "'groupIds' may have at most 100 entries."],
    ['permissions', { userId: 'u', permissions: {} }, "Value at key 'permissions' is not known here."],
  ])('[contract: POST /identify-user] %s is refused', async (_, body, message) => {
    expectMalformed(await post('/identify-user', body), message);
  });

  test('[contract: POST /identify-user] the edges pass: 100 groups, group ids of 256, userId of 128, userInfo of 1,024', async () => {
    for (const body of [
      { userId: 'u'.repeat(128), groupIds: Object.keys(entries(100, 1)) },
      { userId: 'u', groupIds: ['g'.repeat(256)], userInfo: userInfo(1_024) },
    ])
      expect((await post('/identify-user', body)).status).toBe(200);
  });
});
