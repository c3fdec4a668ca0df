/**
 * What the contract keeps for older callers, over HTTP and with real clients: single-room tokens, public-key tokens, the first REST API with
 * its own token, forms. @see contract.test.ts
 */
import { describe, expect, test } from 'vitest';
import { at, contractOf, expectMalformed, nothing, refusal } from '../support/e2e/contract.ts';
import { dial, enterRaw } from '../support/e2e/raw-client.ts';
import { type Ask, ask } from '../support/e2e/rest.ts';
import { enter, rootOf, storageOf, visit } from '../support/e2e/sdk-client.ts';
import { aServer, freshRoomId, isExternal } from '../support/e2e/server.ts';
import { forgedToken } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { plainEditorWith } from '../support/e2e/yjs-clients.ts';

const server = await aServer();
const { call, aRoom } = contractOf(server);
const post = (path: string, json: unknown) => call(`POST ${path}`, { json });
const claimsOf = (token: string) => JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString());
const stateOf = async (roomId: string, token: string) => JSON.parse((await enterRaw(server, { roomId, token })).texts[0]!);
const closing = async (roomId: string, token: string) => (await (await dial(server, { roomId, token })).closed).code;

describe('single-room tokens', () => {
  const tokenFor = async (roomId: string, json: object = {}): Promise<string> => {
    const answer = await post(`${at(roomId)}/authorize`, json);
    expect([answer.status, Object.keys(answer.json)]).toEqual([200, ['token']]);
    return answer.json.token;
  };

  test('[contract: POST /rooms/{roomId}/authorize] [contract: Authentication rule 5] a user enters by what the room gives, and no other room', async () => {
    const accesses = { usersAccesses: { mia: ['*:write'] }, groupsAccesses: { qa: ['*:read', 'comments:write'] } };
    const [roomId, other] = [await aRoom(accesses), await aRoom(accesses)];
    const token = await tokenFor(roomId, { userId: 'mia', userInfo: { name: 'Mia' } });
    expect((await stateOf(roomId, token)).scopes).toEqual(['room:write']);
    expect((await stateOf(roomId, await tokenFor(roomId, { userId: 'bo', groupIds: ['qa'] }))).scopes).toEqual([
      'room:read',
      'comments:write',
    ]);
    expect(await closing(other, token)).toBe(4001);
    expect((await call(`GET ${at(roomId)}/active-users`)).json.data).toContainEqual({
      type: 'user',
      id: 'mia',
      connectionId: expect.any(Number),
      info: { name: 'Mia' },
    });
  });

  test('[contract: POST /rooms/{roomId}/authorize] the SDK client enters by it, edits, and is sent away when the room shuts it out', async () => {
    const roomId = await aRoom({ usersAccesses: { mia: ['*:write'] } });
    const visitor = await enter(server, { roomId, token: () => tokenFor(roomId, { userId: 'mia', userInfo: { name: 'Mia' } }) });
    expect(visitor.room.getSelf()).toMatchObject({ id: 'mia', info: { name: 'Mia' }, canWrite: true });
    (await rootOf(visitor)).set('n', 1);
    await until('it is stored', async () => (await call(`GET ${at(roomId)}/storage?format=json`)).json.n === 1);
    await post(at(roomId), { usersAccesses: { mia: [] } });
    await until('the client has stopped', () => visitor.room.getStatus() === 'disconnected');
    expect(visitor.errors.map(({ code }) => code)).toEqual([4001]);
  });

  test('[contract: Authentication rule 5] without userId every token is for another anonymous user, in rooms open to all', async () => {
    const roomId = await aRoom({ defaultAccesses: ['room:write'] });
    const [one, two] = [
      await enter(server, { roomId, token: () => tokenFor(roomId) }),
      await enter(server, { roomId, token: () => tokenFor(roomId) }),
    ];
    const ids = [one, two].map(({ room }) => room.getSelf()!.id as string);
    expect(ids).toEqual([expect.stringMatching(/^anonymous-/), expect.stringMatching(/^anonymous-/)]);
    expect(ids[0]).not.toBe(ids[1]);
    const others = await until('they see each other', () => one.room.getOthers().map(({ id }) => id)[0]);
    expect(others).toBe(ids[1]);
  });

  test('[contract: POST /rooms/{roomId}/authorize] y-websocket syncs with it', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    const editor = plainEditorWith(server, { roomId, params: { token: await tokenFor(roomId, { userId: 'mia' }) } });
    await until('it has synced', () => editor.provider.synced);
  });

  test('[contract: POST /rooms/{roomId}/authorize] it makes no room: not one that was deleted, nor one that was renamed', async () => {
    const roomId = await aRoom({ usersAccesses: { mia: ['*:write'] } });
    const token = await tokenFor(roomId, { userId: 'mia' });
    await post(`${at(roomId)}/update-room-id`, { newRoomId: freshRoomId('renamed') });
    expect(await closing(roomId, token)).toBe(4001);
    expect((await call(`GET ${at(roomId)}`)).status).toBe(404);
  });

  test('[contract: POST /rooms/{roomId}/authorize] row 120: a private room needs a user whom it knows; a missing one is 404', async () => {
    const roomId = await aRoom({ usersAccesses: { mia: ['*:write'] } });
    for (const json of [{}, { userId: 'bo' }, { groupIds: ['mia'] }])
      expect(refusal(await post(`${at(roomId)}/authorize`, json))).toBe(
        '403 UNAUTHORIZED_ROOM_ACCESS The user has no access to this room.',
      );
    const missing = freshRoomId('missing');
    expect(refusal(await post(`${at(missing)}/authorize`, {}))).toBe(`404 ROOM_NOT_FOUND The room "${missing}" does not exist.`);
    expectMalformed(await post(`${at(missing)}/authorize`, { userId: '' }), "'userId' must not be empty.");
    expect((await call(`POST ${at(await aRoom({ defaultAccesses: ['*:read'] }))}/authorize`)).status).toBe(200);
  });
});

describe('tokens of the public key', () => {
  const authorize = (roomId: string, publicApiKey: unknown = server.publicKey) =>
    call(`POST ${at(roomId)}/public/authorize`, { json: { publicApiKey }, bearer: null });

  test('[contract: POST /rooms/{roomId}/public/authorize] [contract: Authentication rule 6] opens a public room to a real client, without the secret key', async () => {
    const roomId = await aRoom({ defaultAccesses: ['room:write'] });
    const token = async () => (await authorize(roomId)).json.token;
    const visitor = await enter(server, { roomId, token });
    (await rootOf(visitor)).set('n', 1);
    expect(await storageOf(visitor)).toEqual({ n: 1 });
    expect(claimsOf(await token())).toMatchObject({ k: 'acc', perms: { [roomId]: ['room:write'] } });
  });

  test('[contract: POST /rooms/{roomId}/public/authorize] [contract: Authentication rule 6] row 119: works only while the room is public', async () => {
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    const { token } = (await authorize(roomId)).json;
    await post(at(roomId), { defaultAccesses: ['*:read'] });
    expect(await closing(roomId, token)).toBe(4001);
    expect(refusal(await authorize(roomId))).toBe('403 UNAUTHORIZED_ROOM_ACCESS The user has no access to this room.');
    await post(at(roomId), { defaultAccesses: [], usersAccesses: { [claimsOf(token).uid]: [] } });
    expect(await closing(roomId, token)).toBe(4001);
  });

  test('[contract: POST /rooms/{roomId}/public/authorize] row 119: a wrong key is 403 whatever the room, a missing room 404', async () => {
    const [roomId, missing] = [await aRoom({ defaultAccesses: ['*:write'] }), freshRoomId('missing')];
    for (const key of ['pk_other', server.secretKey, ''])
      for (const id of [roomId, missing])
        expect(refusal(await authorize(id, key))).toBe('403 INVALID_PUBLIC_KEY The public key is not valid.');
    expect(refusal(await authorize(missing))).toContain('404 ROOM_NOT_FOUND');
    expectMalformed(await authorize(roomId, null), "'publicApiKey' must be a string.");
    expectMalformed(await call(`POST ${at(roomId)}/public/authorize`, { json: {}, bearer: null }), "Missing key 'publicApiKey'.");
  });
});

describe('the first REST API', () => {
  const node = (kind: string, data: unknown) => ({ liveblocksType: kind, data });
  const DOCUMENT = node('LiveObject', { map: node('LiveMap', { a: 1 }), list: node('LiveList', ['a', { b: [null] }]) });
  const jwt = async (): Promise<string> => (await ask(server, '/api/authorize')).json.token;
  const v1 = async (methodAndPath: string, request: Ask = {}) => {
    const [method, path] = methodAndPath.split(' ') as [string, string];
    return ask(server, `/v1${path}`, { method, bearer: await jwt(), ...request });
  };
  const storage = (roomId: string) => `/room/${encodeURIComponent(roomId)}/storage`;

  test('[contract: Authentication rule 7] the JWT of {auth_url} lives one hour, is got with the secret key alone, and opens nothing but /v1', async () => {
    const { exp, iat } = claimsOf(await jwt());
    expect(exp - iat).toBe(3_600);
    const posted = await ask(server, '/api/authorize', { method: 'POST', json: {} });
    expect([posted.status, Object.keys(posted.json)]).toEqual([200, ['token']]);
    for (const [bearer, said] of [
      [null, '401 MISSING_SECRET_KEY'],
      [server.publicKey, '401 WRONG_KEY_USED'],
      ['sk_other', '403 INVALID_SECRET_KEY'],
      [await jwt(), '403 INVALID_SECRET_KEY'],
    ] as const)
      for (const method of ['GET', 'POST'])
        expect(refusal(await ask(server, '/api/authorize', { method, bearer }))).toContain(said);
    const roomId = await aRoom({ defaultAccesses: ['*:write'] });
    expect(refusal(await call(`GET ${at(roomId)}`, { bearer: await jwt() }))).toContain('403 INVALID_SECRET_KEY');
    expect(await closing(roomId, await jwt())).toBe(4001);
  });

  test('[contract: Authentication rule 7] a user by the room it names gets a token for that room, as the first SDKs asked for it', async () => {
    const roomId = await aRoom({ usersAccesses: { mia: ['*:write'] } });
    const token = async () =>
      (await ask(server, '/api/authorize', { json: { room: roomId, userId: 'mia', userInfo: { name: 'M' } } })).json.token;
    const { room } = visit(server, { roomId, token });
    await until('it is in', () => room.getSelf());
    expect(room.getSelf()).toMatchObject({ id: 'mia', info: { name: 'M' } });
  });

  test('[contract: GET /v1/room/{roomId}/storage] [contract: POST /v1/room/{roomId}/storage] [contract: DELETE /v1/room/{roomId}/storage] fill, read, refuse to fill again, empty', async () => {
    const roomId = await aRoom();
    expect((await v1(`GET ${storage(roomId)}`)).json).toEqual(node('LiveObject', {}));
    expect(await v1(`POST ${storage(roomId)}`, { json: DOCUMENT })).toMatchObject({ status: 200, json: DOCUMENT });
    expect((await v1(`GET ${storage(roomId)}`)).json).toEqual(DOCUMENT);
    expect((await call(`GET ${at(roomId)}/storage`)).json).toEqual(DOCUMENT);
    expect(refusal(await v1(`POST ${storage(roomId)}`, { json: DOCUMENT }))).toContain('409 CANNOT_UPDATE_EXISTING_STORAGE');
    expect(await v1(`DELETE ${storage(roomId)}`)).toEqual(nothing(200));
    expect((await call(`GET ${at(roomId)}/storage?format=json`)).json).toEqual({});
  });

  test('[contract: GET /v1/room/{roomId}/storage] knows three kinds of nodes: a text is its segments', async () => {
    const roomId = await aRoom();
    await post(`${at(roomId)}/storage`, node('LiveObject', { t: node('LiveText', [['Hi', { bold: true }]]) }));
    expect((await v1(`GET ${storage(roomId)}`)).json).toEqual(node('LiveObject', { t: [['Hi', { bold: true }]] }));
    const text = node('LiveObject', { t: node('LiveText', 'x') });
    expectMalformed(
      await v1(`POST ${storage(await aRoom())}`, { json: text }),
      "'/data/t/liveblocksType' must be one of LiveObject, LiveList, LiveMap",
    );
  });

  test('[contract: GET /v1/room/{roomId}/users] lists each connection with its four keys', async () => {
    const roomId = await aRoom();
    const users = async () => (await v1(`GET /room/${encodeURIComponent(roomId)}/users`)).json;
    expect(await users()).toEqual({ data: [] });
    const { actor } = await enterRaw(server, { roomId, userId: 'al', userInfo: { name: 'Al' } });
    expect(await users()).toEqual({ data: [{ type: 'user', id: 'al', connectionId: actor, info: { name: 'Al' } }] });
  });

  test.each([
    ['GET', 'storage'],
    ['POST', 'storage'],
    ['DELETE', 'storage'],
    ['GET', 'users'],
  ])(
    '[contract: Authentication rule 7] %s …/%s takes the JWT or the secret key, and says which is missing',
    async (method, what) => {
      const missing = freshRoomId('missing');
      const request = method === 'POST' ? { json: DOCUMENT } : {};
      const as = async (bearer: string | null) =>
        refusal(await v1(`${method} /room/${encodeURIComponent(missing)}/${what}`, { ...request, bearer }));
      for (const bearer of [await jwt(), server.secretKey]) expect(await as(bearer)).toContain('404 ROOM_NOT_FOUND');
      expect(await as(null)).toContain('401 MISSING_SECRET_KEY');
      expect(await as(server.publicKey)).toContain('401 WRONG_KEY_USED');
      expect(await as('sk_other')).toContain('403 INVALID_SECRET_KEY');
      expect(await as('x.y.z')).toContain('401 INVALID_TOKEN');
      const token = (await post(`${at(await aRoom({ defaultAccesses: ['*:write'] }))}/authorize`, {})).json.token;
      expect(await as(token)).toContain('401 INVALID_TOKEN');
      if (!isExternal) expect(await as(await forgedToken(server, { expiresInSeconds: 60 }))).toContain('401 INVALID_TOKEN');
    },
  );
});

describe('forms', () => {
  const form = (path: string, fields: string) =>
    call(`POST ${path}`, { body: fields, contentType: 'application/x-www-form-urlencoded' });

  test('[contract: form-encoded bodies] a room is made and changed by forms as by JSON', async () => {
    const id = freshRoomId('a form & more');
    const fields: [string, string][] = [
      ['id', id],
      ['defaultAccesses[]', '*:read'],
      ['defaultAccesses[]', 'comments:write'],
      ['metadata[stage]', 'draft'],
      ['metadata[tags][]', 'x'],
      ['metadata[tags][]', 'y'],
      ['usersAccesses[mia][]', '*:write'],
      ['usersAccesses[bo][]', ''],
    ];
    const made = await form('/rooms', String(new URLSearchParams(fields)));
    expect(made).toMatchObject({
      status: 200,
      json: {
        id,
        defaultAccesses: ['*:read', 'comments:write'],
        metadata: { stage: 'draft', tags: ['x', 'y'] },
        usersAccesses: { mia: ['*:write'], bo: [] },
      },
    });
    expect((await form(at(id), 'metadata[stage]=done&defaultAccesses=')).json).toMatchObject({
      defaultAccesses: [],
      metadata: { stage: 'done', tags: ['x', 'y'] },
    });
    expect((await form(`${at(id)}/presence`, 'userId=u&data[n]=1&userInfo[name]=U&ttl=60')).status).toBe(204);
  });

  test('[contract: form-encoded bodies] are refused by the same rules, and taken only where the API itself says what is in a body', async () => {
    expectMalformed(await form('/rooms', 'id=x'), "Missing key 'defaultAccesses'.");
    expectMalformed(await form('/rooms', 'id=x&defaultAccesses[]=fly'), `'defaultAccesses' holds "fly"`);
    expectMalformed(
      await form(`${at(await aRoom())}/presence`, 'userId=u&data[n]=1&userInfo[name]=U&ttl=1'),
      "'ttl' must be at least 2.",
    );
    for (const path of ['storage', 'broadcast-event'])
      expect(refusal(await form(`${at(await aRoom())}/${path}`, 'a=1'))).toContain('415 UNSUPPORTED_MEDIA_TYPE');
  });
});
