/** The deprecated token endpoints: single-room tokens, those of the public key, and the JWT of the first REST API. */
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { makeTokenVerifier, tokenKeyFrom, verifyBackEndToken } from '../../../src/features/tokens/queries.ts';
import { tokenRoutes } from '../../../src/features/tokens/routes.ts';
import { entryFor, type RoomForEntry } from '../../../src/features/tokens/rules.ts';
import type { AccessClaims } from '../../../src/features/tokens/shapes.ts';
import { scopesOf } from '../../../src/protocol/permissions.ts';
import { callerOf, refused, type Sent } from '../call.ts';

const T0 = 1_795_241_154_000;
const HOUR_MS = 3_600_000;
const tokenKey = tokenKeyFrom('sk_test');
const room = (accesses: Partial<RoomForEntry['accesses']>, organizationId = 'default'): RoomForEntry => ({
  organizationId,
  accesses: { defaultAccesses: [], groupsAccesses: {}, usersAccesses: {}, ...accesses },
});
const ROOMS: Readonly<Record<string, RoomForEntry>> = {
  public: room({ defaultAccesses: ['room:write', 'comments:none'] }),
  readable: room({ defaultAccesses: ['*:read'] }),
  private: room({ usersAccesses: { mia: ['*:write'] }, groupsAccesses: { qa: ['*:read'] } }),
  acme: room({ defaultAccesses: ['*:write'] }, 'acme'),
};
let issued = 0;
const call = callerOf(
  tokenRoutes({
    tokenKey,
    tokenLifetimeMs: HOUR_MS / 2,
    publicKey: 'pk_test',
    nowMs: () => T0,
    newTokenId: () => `t${++issued}`,
    findRoom: async (roomId) => ROOMS[roomId] ?? null,
  }),
);
const verify = makeTokenVerifier({ tokenKeys: [tokenKey], nowMs: () => T0, rememberedMax: 100 });
const claimsOf = async (methodAndPath: string, sent: Sent = {}): Promise<AccessClaims> => {
  const answer = await call(methodAndPath, sent);
  expect([answer.status, Object.keys(answer.json)]).toEqual([200, ['token']]);
  return (await verify(answer.json.token)) as AccessClaims;
};
const authorize = (roomId: string, json: object = {}) => claimsOf(`POST /v2/rooms/${roomId}/authorize`, { json });
const refusal = async (path: string, sent: Sent) => refused(await call(`POST ${path}`, sent));

function entry(claims: AccessClaims, found: RoomForEntry | null, roomId: string): string {
  try {
    const { userId, permissions, createIn } = entryFor({ kind: 'token', claims }, found, roomId);
    expect(createIn).toBeNull();
    return `${userId} ${scopesOf(permissions)}`;
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

describe('POST /rooms/{roomId}/authorize', () => {
  test('[TK33] answers a token that is, to the SDK, an access token of this room, with what the room gives now', async () => {
    const claims = await authorize('private', { userId: 'mia', groupIds: ['qa'], userInfo: { name: 'Mia' } });
    expect(claims).toMatchObject({
      k: 'acc',
      uid: 'mia',
      ui: { name: 'Mia' },
      oid: 'default',
      perms: { private: ['*:write'] },
      room: { id: 'private', gids: ['qa'], by: 'secret' },
      exp: T0 / 1_000 + 1_800,
    });
    expect((await authorize('private', { userId: 'bo', groupIds: ['qa'] })).perms).toEqual({ private: ['*:read'] });
    expect((await authorize('acme', { userId: 'bo' })).oid).toBe('acme');
  });

  test('[TK34] without userId each token has an anonymous id of its own, in rooms that let everyone in', async () => {
    const [one, two] = [await authorize('public'), await claimsOf('POST /v2/rooms/public/authorize', { body: '' })];
    expect([one.uid, two.uid]).toEqual([expect.stringMatching(/^anonymous-t\d+$/), expect.stringMatching(/^anonymous-t\d+$/)]);
    expect(one.uid).not.toBe(two.uid);
    expect(one.perms).toEqual({ public: ['*:write', 'comments:none'] });
    expect((await authorize('readable')).perms).toEqual({ readable: ['*:read'] });
  });

  test('[TK35] row 120: a private room needs a userId that it knows; groups alone are none', async () => {
    for (const json of [{}, { groupIds: ['qa'] }, { userId: 'bo' }, { userId: 'bo', groupIds: ['other'] }])
      expect(await refusal('/v2/rooms/private/authorize', { json })).toBe(
        '403 UNAUTHORIZED_ROOM_ACCESS The user has no access to this room.',
      );
  });

  test('[TK36] the room is read at each entry: what it gives then counts, and it opens no other room and makes none', async () => {
    const claims = await authorize('private', { userId: 'bo', groupIds: ['qa'] });
    expect(entry(claims, ROOMS.private!, 'private')).toBe('bo *:read');
    expect(entry(claims, room({ usersAccesses: { bo: ['*:write'] } }), 'private')).toBe('bo *:write');
    expect(entry(claims, room({}), 'private')).toBe('UNAUTHORIZED_ROOM_ACCESS');
    expect(entry(claims, ROOMS.public!, 'public')).toBe('UNAUTHORIZED_ROOM_ACCESS');
    expect(entry(claims, room({ groupsAccesses: { qa: ['*:read'] } }, 'acme'), 'private')).toBe('ROOM_NOT_FOUND');
    expect(entry(claims, null, 'private')).toBe('ROOM_NOT_FOUND');
  });

  test.each<[name: string, json: object, message: string]>([
    ['an empty userId', { userId: '' }, "'userId' must not be empty."],
    ['a userId of 129', { userId: 'u'.repeat(129) }, "'userId' must have at most 128 characters."],
    ['text for groupIds', { userId: 'u', groupIds: 'qa' }, "'groupIds' must be an array."],
    ['101 groups', { userId: 'u', groupIds: Array(101).fill('g') }, "'groupIds' may have at most 100 entries."],
    ['an empty group', { groupIds: [''] }, "'groupIds.0' must have 1 to 256 characters."],
    ['userInfo of 1,025', { userInfo: { a: 'x'.repeat(1_017) } }, "'userInfo' may have at most 1024"],
    ['permissions', { permissions: {} }, "'permissions' is not known here."],
  ])('[TK37] %s is refused before anybody asks for the room', async (_, json, message) => {
    expect(await refusal('/v2/rooms/missing/authorize', { json })).toBe(
      `422 UNPROCESSABLE_ENTITY Value at key ${message}`.replace(/1024$/, '1024 characters as JSON.'),
    );
  });

  test('[TK37] a missing room is 404, and the secret key is needed', async () => {
    expect(await refusal('/v2/rooms/missing/authorize', { json: {} })).toContain('404 ROOM_NOT_FOUND');
    expect(await refusal('/v2/rooms/a*/authorize', { json: {} })).toContain("422 UNPROCESSABLE_ENTITY Value at key 'roomId'");
    expect(await refusal('/v2/rooms/public/authorize', { json: {}, bearer: null })).toContain('401 MISSING_SECRET_KEY');
    expect(await refusal('/v2/rooms/public/authorize', { json: {}, bearer: 'pk_test' })).toContain('401 WRONG_KEY_USED');
  });
});

describe('POST /rooms/{roomId}/public/authorize', () => {
  const path = (roomId: string) => `/v2/rooms/${roomId}/public/authorize`;
  const json = { publicApiKey: 'pk_test' };

  test('[TK38] needs the public key alone, and answers an anonymous token for a public room', async () => {
    const claims = await claimsOf(`POST ${path('public')}`, { json, bearer: null });
    expect(claims).toMatchObject({ k: 'acc', perms: { public: ['*:write', 'comments:none'] }, room: { gids: [], by: 'public' } });
    expect(claims.uid).toMatch(/^anonymous-t\d+$/);
    expect(entry(claims, ROOMS.public!, 'public')).toBe(`${claims.uid} *:write,comments:none`);
  });

  test('[TK39] row 119: works with public rooms only, when it is issued and at each entry; a wrong key opens nothing', async () => {
    const asked = (roomId: string, publicApiKey: unknown) => refusal(path(roomId), { json: { publicApiKey }, bearer: null });
    for (const roomId of ['private', 'readable'])
      expect(await asked(roomId, 'pk_test')).toBe('403 UNAUTHORIZED_ROOM_ACCESS The user has no access to this room.');
    for (const roomId of ['missing', 'acme']) expect(await asked(roomId, 'pk_test')).toContain('404 ROOM_NOT_FOUND');
    for (const key of ['pk_other', '', 'sk_test'])
      for (const roomId of ['public', 'missing'])
        expect(await asked(roomId, key)).toBe('403 INVALID_PUBLIC_KEY The public key is not valid.');
    expect(await asked('public', 7)).toContain("422 UNPROCESSABLE_ENTITY Value at key 'publicApiKey' must be a string.");
    expect(await refusal(path('public'), { json: {}, bearer: null })).toContain(
      "422 UNPROCESSABLE_ENTITY Missing key 'publicApiKey'.",
    );
    const claims = await claimsOf(`POST ${path('public')}`, { json, bearer: null });
    expect(entry(claims, ROOMS.readable!, 'public')).toBe('UNAUTHORIZED_ROOM_ACCESS');
  });
});

describe('/api/authorize', () => {
  const tokenBy = async (methodAndPath: string, sent: Sent = {}) => (await call(methodAndPath, sent)).json.token as string;

  test('[TK40] gives, for GET and POST, a JWT that stands for the secret key for one hour', async () => {
    for (const token of [
      await tokenBy('GET /api/authorize'),
      await tokenBy('POST /api/authorize', { json: {} }),
      await tokenBy('POST /api/authorize', { body: '' }),
    ]) {
      await verifyBackEndToken(token, { tokenKeys: [tokenKey], nowMs: T0 + HOUR_MS - 1 });
      await expect(verifyBackEndToken(token, { tokenKeys: [tokenKey], nowMs: T0 + HOUR_MS })).rejects.toMatchObject({
        code: 'TOKEN_EXPIRED',
      });
      await expect(verifyBackEndToken(token, { tokenKeys: [tokenKeyFrom('sk_other')], nowMs: T0 })).rejects.toMatchObject({
        code: 'INVALID_TOKEN',
      });
    }
    expect(refused(await call('GET /api/authorize', { bearer: null }))).toContain('401 MISSING_SECRET_KEY');
  });

  test('[TK41] it is no token of a user, and no token of a user is one', async () => {
    await expect(verify(await tokenBy('GET /api/authorize'))).rejects.toMatchObject({ code: 'INVALID_TOKEN' });
    const ofUser = await tokenBy('POST /v2/rooms/public/authorize', { json: {} });
    await expect(verifyBackEndToken(ofUser, { tokenKeys: [tokenKey], nowMs: T0 })).rejects.toMatchObject({
      code: 'INVALID_TOKEN',
    });
  });

  test('[TK42] that names a room gives the single-room token, as the first SDKs asked for it', async () => {
    const json = { room: 'private', userId: 'mia', userInfo: { name: 'Mia' } };
    expect(await claimsOf('POST /api/authorize', { json })).toMatchObject({ uid: 'mia', perms: { private: ['*:write'] } });
    expect(await refusal('/api/authorize', { json: { room: 'missing' } })).toContain('404 ROOM_NOT_FOUND');
    expect(await refusal('/api/authorize', { json: { room: 'a*' } })).toContain("422 UNPROCESSABLE_ENTITY Value at key 'room'");
  });
});
