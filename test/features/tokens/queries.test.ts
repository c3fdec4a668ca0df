import { SignJWT, UnsecuredJWT } from 'jose';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import type { Keyring } from '../../../src/base/keyring.ts';
import {
  type AdmissionDeps,
  admit,
  authorize,
  makeTokenVerifier,
  type Shown,
  signToken,
  tokenKeyFrom,
} from '../../../src/features/tokens/queries.ts';
import { accessClaimsFor, idClaimsFor, type RoomForEntry } from '../../../src/features/tokens/rules.ts';
import { permissionsOf } from '../../../src/protocol/permissions.ts';

const tokenKey = tokenKeyFrom('sk_test_1');
const T0 = 1_795_241_154_000;
const claimsAt = (nowMs: number) =>
  accessClaimsFor({ userId: 'mia', permissions: { a: ['*:read'] } }, { nowMs, lifetimeMs: 60_000, tokenId: 't' });
const claims = claimsAt(T0);
const noAccesses = { defaultAccesses: [], groupsAccesses: {}, usersAccesses: {} };

function verifierAt(nowMs: number, rememberedMax = 10) {
  const clock = { nowMs };
  return { clock, verify: makeTokenVerifier({ tokenKeys: [tokenKey], nowMs: () => clock.nowMs, rememberedMax }) };
}

async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

const signed = (payload: Record<string, unknown>, { key = tokenKey, header = {} }: { key?: Uint8Array; header?: object } = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg: 'HS256', typ: 'JWT', ...header }).sign(key);

describe('verification', () => {
  test('[TK16] what was signed comes back, with both kinds of claims', async () => {
    const { verify } = verifierAt(T0);
    const idClaims = idClaimsFor(
      { userId: 'bo', groupIds: ['qa'], userInfo: { name: 'é' } },
      { nowMs: T0, lifetimeMs: 60_000, tokenId: 'u' },
    );
    expect(await verify(await signToken(claims, tokenKey))).toEqual(claims);
    expect(await verify(await signToken(idClaims, tokenKey))).toEqual(idClaims);
  });

  test('[TK17] a token is good to the last millisecond before its expiry, remembered or not, and expired from then on', async () => {
    const token = await signToken(claims, tokenKey);
    const { clock, verify } = verifierAt(T0 + 59_999);
    expect(await verify(token)).toEqual(claims);
    clock.nowMs += 1;
    expect(await refusal(verify(token))).toContain('TOKEN_EXPIRED');
    expect(await refusal(verify(token))).toContain('TOKEN_EXPIRED');
    expect(await refusal(verifierAt(T0 + 60_000).verify(token))).toContain('TOKEN_EXPIRED');
  });

  test('[TK18] a forged token is invalid, never expired: clients would spin on 4109', async () => {
    const { verify } = verifierAt(T0 + 60_000);
    expect(await refusal(verify(await signed(claims, { key: tokenKeyFrom('sk_other') })))).toBe(
      'INVALID_TOKEN The token is not valid: its signature does not match.',
    );
  });

  test.each([
    ['no signature at all', () => Promise.resolve(new UnsecuredJWT({ ...claims }).encode()), 'its algorithm is not ours'],
    [
      'another algorithm',
      () => signed(claims, { header: { alg: 'HS512' }, key: new Uint8Array(64) }),
      'its algorithm is not ours',
    ],
    ['another issuer', () => signed({ ...claims, iss: 'elsewhere' }), 'its claim iss does not fit'],
    ['another audience', () => signed({ ...claims, aud: 'elsewhere' }), 'its claim aud does not fit'],
    ['no expiry', () => signed({ ...claims, exp: undefined }), 'a claim is missing or malformed'],
    ['no time of issue', () => signed({ ...claims, iat: undefined }), 'a claim is missing or malformed'],
    ['no id', () => signed({ ...claims, jti: undefined }), 'a claim is missing or malformed'],
    ['the legacy kind', () => signed({ ...claims, k: 'sec-legacy' }), 'a claim is missing or malformed'],
    ['permissions that are no lists', () => signed({ ...claims, perms: { a: '*:write' } }), 'a claim is missing or malformed'],
    ['not yet valid', () => signed({ ...claims, nbf: claims.iat + 60 }), 'its claim nbf does not fit'],
    [
      'a critical extension',
      () => signed(claims, { header: { crit: ['x'], x: 1 } }).catch(() => 'a.b.c'),
      'it is not a token of ours',
    ],
    ['not a token', () => Promise.resolve('hello'), 'it is not a token of ours'],
    ['empty', () => Promise.resolve(''), 'it is not a token of ours'],
    ['three parts of nonsense', () => Promise.resolve('..'), 'it is not a token of ours'],
    ['too long', () => Promise.resolve('x'.repeat(16_385)), 'it is too long'],
  ])('[TK19] %s is refused with a reason', async (_, make, reason) => {
    expect(await refusal(verifierAt(T0).verify(await make()))).toBe(`INVALID_TOKEN The token is not valid: ${reason}.`);
  });

  test('[TK20] a clock that is 30 s behind the signer is tolerated, one more is not', async () => {
    const token = await signToken(claims, tokenKey);
    expect(await verifierAt(T0 - 30_000).verify(token)).toEqual(claims);
    expect(await refusal(verifierAt(T0 - 30_001).verify(token))).toContain('it is from the future');
  });

  test('[TK21] a changed payload under the signature of a remembered token is refused', async () => {
    const { verify } = verifierAt(T0);
    const token = await signToken(claims, tokenKey);
    await verify(token);
    const [head, , signature] = token.split('.');
    const forged = Buffer.from(JSON.stringify({ ...claims, uid: 'root' })).toString('base64url');
    expect(await refusal(verify(`${head}.${forged}.${signature}`))).toContain('its signature does not match');
  });

  test('[TK46] a token that was signed under the other secret key is good until it expires, and then expired; one of any third key is none', async () => {
    const other = tokenKeyFrom('sk_test_0');
    const clock = { nowMs: T0 };
    const verify = makeTokenVerifier({ tokenKeys: [tokenKey, other], nowMs: () => clock.nowMs, rememberedMax: 10 });
    for (const key of [tokenKey, other]) expect(await verify(await signToken(claims, key))).toEqual(claims);
    expect(await refusal(verify(await signToken(claims, tokenKeyFrom('sk_third'))))).toContain('its signature does not match');
    clock.nowMs += 60_000;
    expect(await refusal(verify(await signToken(claims, other)))).toContain('TOKEN_EXPIRED');
  });

  test('[TK32] as many tokens are remembered as allowed; of one more, the oldest is forgotten', async () => {
    const deps = { tokenKeys: [tokenKey] as Keyring, nowMs: () => T0, rememberedMax: 2 };
    const verify = makeTokenVerifier(deps);
    const tokens = await Promise.all(['1', '2', '3'].map((jti) => signToken({ ...claims, jti }, tokenKey)));
    for (const token of tokens) await verify(token);
    deps.tokenKeys = [tokenKeyFrom('sk_other')]; // from here on only memory knows them
    expect(await Promise.all(tokens.map((token) => refusal(verify(token))))).toEqual([
      expect.stringContaining('its signature does not match'),
      'accepted',
      'accepted',
    ]);
  });

  test('[TK22] keys of different secrets differ, of one secret agree', () => {
    expect(tokenKeyFrom('sk_a')).toEqual(tokenKeyFrom('sk_a'));
    expect(tokenKeyFrom('sk_a')).not.toEqual(tokenKeyFrom('sk_b'));
    expect(tokenKeyFrom('sk_a')).toHaveLength(32);
  });
});

describe('admission', () => {
  const rooms = new Map<string, RoomForEntry>();
  const created: unknown[] = [];
  const deps: AdmissionDeps = {
    verifyToken: verifierAt(T0).verify,
    publicKey: 'pk_1',
    findRoom: async (roomId) => rooms.get(roomId) ?? null,
    createRoom: async (room) => {
      created.push(room);
      const made = rooms.get(`race:${room.roomId}`) ?? { organizationId: room.organizationId, accesses: noAccesses };
      rooms.set(room.roomId, made);
      return made;
    },
  };
  const enter = (roomId: string, credentials: Shown) => admit({ roomId, credentials }, deps);
  const withToken = async (): Promise<Shown> => ({
    type: 'token',
    token: await signToken({ ...claims, perms: { '*': ['*:read'] } }, tokenKey),
  });

  test('[TK23] a permitted access token makes the room once and enters it until the token expires', async () => {
    const expected = {
      roomId: 'new',
      userId: 'mia',
      info: null,
      permissions: permissionsOf(['*:read']),
      expiresAtMs: T0 + 60_000,
    };
    expect(await enter('new', await withToken())).toEqual(expected);
    expect(await enter('new', await withToken())).toEqual(expected);
    expect(created).toEqual([{ roomId: 'new', organizationId: 'default' }]);
  });

  test('[TK24] when another organisation makes the room first, the token does not enter it', async () => {
    rooms.set('race:contested', { organizationId: 'acme', accesses: noAccesses });
    expect(await refusal(enter('contested', await withToken()))).toContain('ROOM_NOT_FOUND');
  });

  test('[TK25] the public key enters public rooms without an end; a wrong key, none, or an impossible room id are refused', async () => {
    rooms.set('public', { organizationId: 'default', accesses: { ...noAccesses, defaultAccesses: ['*:write'] } });
    expect(await enter('public', { type: 'public-key', key: 'pk_1' })).toMatchObject({
      userId: null,
      expiresAtMs: Number.POSITIVE_INFINITY,
    });
    expect(await refusal(enter('public', { type: 'public-key', key: 'pk_2' }))).toContain('INVALID_PUBLIC_KEY');
    expect(await refusal(enter('public', { type: 'none' }))).toContain('MISSING_TOKEN');
    expect(await refusal(enter('', { type: 'public-key', key: 'pk_1' }))).toContain("UNPROCESSABLE_ENTITY Value at key 'roomId'");
  });
});

describe('routes for clients', () => {
  const open: RoomForEntry = { organizationId: 'default', accesses: { ...noAccesses, defaultAccesses: ['*:write'] } };
  const findRoom = (room: RoomForEntry | null) => async () => room;
  const user = (perms: Record<string, string[]>) =>
    ({
      kind: 'user',
      token: { ...accessClaimsFor({ userId: 'mia', permissions: perms }, { nowMs: T0, lifetimeMs: 60_000, tokenId: 't' }) },
    }) as const;
  const asked = (
    principal: Parameters<typeof authorize>[0],
    need: Parameters<typeof authorize>[1],
    room: RoomForEntry | null = open,
    roomId = 'a',
  ) => refusal(authorize(principal, need, { params: { roomId }, findRoom: findRoom(room) }));
  const LACKS = (need: string) => `UNAUTHORIZED_ROOM_ACCESS The user lacks the permission ${need} on this room.`;

  test('[TK43] ask for a right on the room of their path: of the token, or of the room for the public key', async () => {
    for (const need of ['room:read', 'storage:read', 'storage:write', 'comments:read'] as const) {
      expect(await asked(user({ a: ['*:write'] }), need)).toBe('accepted');
      expect(await asked({ kind: 'public' }, need)).toBe('accepted');
    }
    expect(await asked(user({ a: ['*:write'] }), 'comments:write')).toBe('accepted');
    expect(await asked({ kind: 'public' }, 'comments:write')).toBe(LACKS('comments:write'));
    const writesNoStorage = user({ a: ['*:write', 'storage:read'] });
    expect(await asked(writesNoStorage, 'storage:read')).toBe('accepted');
    expect(await asked(writesNoStorage, 'storage:write')).toBe(LACKS('storage:write'));
    expect(await asked(user({ b: ['*:write'] }), 'storage:read')).toBe(
      'UNAUTHORIZED_ROOM_ACCESS The user has no access to this room.',
    );
    const closed = { ...open, accesses: noAccesses };
    expect(await asked({ kind: 'public' }, 'storage:read', closed)).toContain('UNAUTHORIZED_ROOM_ACCESS');
    const reads = { ...open, accesses: { ...noAccesses, usersAccesses: { mia: ['*:read'] } } };
    const { token } = { token: { ...idClaimsFor({ userId: 'mia' }, { nowMs: T0, lifetimeMs: 60_000, tokenId: 't' }) } };
    expect(await asked({ kind: 'user', token }, 'storage:read', reads)).toBe('accepted');
    expect(await asked({ kind: 'user', token }, 'storage:write', reads)).toBe(LACKS('storage:write'));
  });

  test('[TK43] a room of another organisation is not there; one that is not there is for the route to miss', async () => {
    const elsewhere = { ...open, organizationId: 'acme' };
    for (const principal of [user({ a: ['*:write'] }), { kind: 'public' } as const])
      expect(await asked(principal, 'storage:read', elsewhere)).toBe('ROOM_NOT_FOUND The room "a" does not exist.');
    expect(await asked(user({ a: ['*:write'] }), 'storage:read', null)).toBe('accepted');
    expect(await asked({ kind: 'public' }, 'storage:read', null)).toContain('ROOM_NOT_FOUND');
    expect(await asked(user({ a: ['*:write'] }), 'storage:read', open, '__proto__')).toContain("Value at key 'roomId'");
  });

  test('[TK44] what is personal is for any user, and not for the public key', async () => {
    expect(await asked(user({ b: ['*:read'] }), 'personal:write', null)).toBe('accepted');
    expect(await asked({ kind: 'public' }, 'personal:read')).toBe('UNAUTHORIZED_ROOM_ACCESS This needs the token of a user.');
  });
});
