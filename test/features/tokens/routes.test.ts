import { Liveblocks } from '@liveblocks/node';
import { describe, expect, test } from 'vitest';
import { makeTokenVerifier, tokenKeyFrom } from '../../../src/features/tokens/queries.ts';
import { tokenRoutes } from '../../../src/features/tokens/routes.ts';
import { callerOf, refused } from '../call.ts';

const T0 = 1_795_241_154_000;
const tokenKey = tokenKeyFrom('sk_test');
let issued = 0;
const call = callerOf(
  tokenRoutes({
    tokenKey,
    tokenLifetimeMs: 3_600_000,
    publicKey: 'pk_test',
    nowMs: () => T0,
    newTokenId: () => `token-${++issued}`,
    findRoom: async () => null,
  }),
);
const verify = makeTokenVerifier({ tokenKeys: [tokenKey], nowMs: () => T0, rememberedMax: 10 });
const authorize = (body: unknown) => call('POST /v2/authorize-user', { json: body });
const identify = (body: unknown) => call('POST /v2/identify-user', { json: body });

describe('POST /authorize-user', () => {
  test('[TK26] answers a token that verifies to the claims asked for, and nothing else', async () => {
    const body = {
      userId: 'u-17',
      permissions: { 'plan-a': ['*:write'], 'plan-*': ['*:read'] },
      organizationId: 'acme',
      userInfo: { name: 'Al' },
    };
    const answer = await authorize(body);
    expect(answer.status).toBe(200);
    expect(Object.keys(answer.json)).toEqual(['token']);
    expect(await verify(answer.json.token)).toMatchObject({
      k: 'acc',
      uid: 'u-17',
      oid: 'acme',
      perms: body.permissions,
      ui: { name: 'Al' },
    });
  });

  test('[TK27] the same request twice gives two texts', async () => {
    const body = { userId: 'u', permissions: {} };
    expect((await authorize(body)).json.token).not.toBe((await authorize(body)).json.token);
  });

  test.each([
    ['no userId', { permissions: {} }, "Missing key 'userId'."],
    ['no permissions', { userId: 'u' }, "Missing key 'permissions'."],
    ['an unknown key', { userId: 'u', permissions: {}, groupIds: [] }, "Value at key 'groupIds' is not known here."],
    [
      'permissions that are no list',
      { userId: 'u', permissions: { a: '*:read' } },
      "Value at key 'permissions.a' must be an array.",
    ],
    [
      'userInfo that is no object',
      { userId: 'u', permissions: {}, userInfo: ['x'] },
      "Value at key 'userInfo' must be an object.",
    ],
    [
      'row 116: 11 entries',
      { userId: 'u', permissions: Object.fromEntries([...'abcdefghijk'].map((id) => [id, ['*:read']])) },
      "Value at key 'permissions' may have at most 10 entries.",
    ],
    [
      'row 117: *x',
      { userId: 'u', permissions: { '*x': ['*:read'] } },
      "Value at key 'permissions.*x' must be a room ID, or a prefix with an asterisk at its end",
    ],
    [
      'row 117: a*b',
      { userId: 'u', permissions: { 'a*b': ['*:read'] } },
      "Value at key 'permissions.a*b' must be a room ID, or a prefix",
    ],
    ['row 118: a userId of 129', { userId: 'u'.repeat(129), permissions: {} }, "Value at key 'userId' must have"],
    [
      'row 118: userInfo above 1,024',
      { userId: 'u', permissions: {}, userInfo: { a: 'x'.repeat(1_020) } },
      "Value at key 'userInfo' may have at most 1024",
    ],
    [
      'an unknown permission',
      { userId: 'u', permissions: { a: ['room:admin'] } },
      'Value at key \'permissions.a\' holds "room:admin"',
    ],
  ])('[TK28] %s is refused', async (_, body, message) => {
    expect(refused(await authorize(body))).toContain(`422 UNPROCESSABLE_ENTITY ${message}`);
  });
});

describe('POST /identify-user', () => {
  test('[TK29] answers a token with groups and organisation', async () => {
    const answer = await identify({ userId: 'u-17', groupIds: ['qa'], organizationId: 'acme' });
    expect(await verify(answer.json.token)).toMatchObject({ k: 'id', uid: 'u-17', gids: ['qa'], oid: 'acme' });
    expect(refused(await identify({ userId: 'u', groupIds: 'qa' }))).toContain(
      "422 UNPROCESSABLE_ENTITY Value at key 'groupIds' must be an array.",
    );
    expect(refused(await identify({}))).toContain("422 UNPROCESSABLE_ENTITY Missing key 'userId'.");
  });

  test('[TK30] neither endpoint answers without the secret key', async () => {
    for (const path of ['/v2/authorize-user', '/v2/identify-user']) {
      const json = { userId: 'u', permissions: {} };
      expect(refused(await call(`POST ${path}`, { json, bearer: null }))).toContain('401 MISSING_SECRET_KEY');
      expect(refused(await call(`POST ${path}`, { json, bearer: 'pk_test' }))).toContain('401 WRONG_KEY_USED');
      expect(refused(await call(`POST ${path}`, { json, bearer: 'sk_other' }))).toContain('403 INVALID_SECRET_KEY');
    }
  });

  test("[TK31] every permission list that the SDK's session makes is taken", async () => {
    const session = new Liveblocks({ secret: 'sk_test' }).prepareSession('u', { userInfo: { name: 'Al' } });
    session
      .allow('a*', session.FULL_ACCESS)
      .allow('a*', session.READ_ACCESS)
      .allow('b', ['*:read', 'comments:write', 'feeds:none']);
    const permissions = JSON.parse(JSON.stringify((session as any).serializePermissions()));
    expect((await authorize({ userId: 'u', permissions })).status).toBe(200);
  });
});
