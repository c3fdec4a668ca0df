import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import {
  accessClaimsFor,
  type Credential,
  entryFor,
  idClaimsFor,
  type RoomForEntry,
  TOKEN_LIMITS,
} from '../../../src/features/tokens/rules.ts';
import type { AuthorizeUser, IdentifyUser } from '../../../src/features/tokens/shapes.ts';
import { FULL_ACCESS, permissionsOf, scopesOf } from '../../../src/protocol/permissions.ts';

const issue = { nowMs: 1_795_241_154_321, lifetimeMs: 3_600_000, tokenId: 'token-1' };
const access = (request: Partial<AuthorizeUser>) => accessClaimsFor({ userId: 'mia', permissions: {}, ...request }, issue);
const identity = (request: Partial<IdentifyUser>) => idClaimsFor({ userId: 'mia', ...request }, issue);
const acc = (perms: Record<string, string[]>, oid = 'default'): Credential => ({
  kind: 'token',
  claims: access({ permissions: perms, organizationId: oid }),
});
const id = (groupIds: string[] = [], oid = 'default'): Credential => ({
  kind: 'token',
  claims: identity({ groupIds, organizationId: oid }),
});
const publicKey: Credential = { kind: 'public key' };
const room = (accesses: Partial<RoomForEntry['accesses']>, organizationId = 'default'): RoomForEntry => ({
  organizationId,
  accesses: { defaultAccesses: [], groupsAccesses: {}, usersAccesses: {}, ...accesses },
});

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

describe('claims', () => {
  test('[TK1] an access token carries what the SDK reads, times in seconds, an organisation and an id of its own', () => {
    expect(
      access({ permissions: { 'org:*': ['*:write'], 'org:secret': ['*:read', 'comments:write'] }, userInfo: { name: 'Al' } }),
    ).toEqual({
      k: 'acc',
      iss: 'atrium',
      aud: 'atrium',
      pid: 'atrium',
      oid: 'default',
      uid: 'mia',
      ui: { name: 'Al' },
      perms: { 'org:*': ['*:write'], 'org:secret': ['*:read', 'comments:write'] },
      iat: 1_795_241_154,
      exp: 1_795_244_754,
      jti: 'token-1',
    });
  });

  test('[TK2] an ID token carries groups and no permissions; userInfo is absent when none was given', () => {
    expect(identity({ groupIds: ['qa'], organizationId: 'acme' })).toEqual({
      k: 'id',
      iss: 'atrium',
      aud: 'atrium',
      pid: 'atrium',
      oid: 'acme',
      uid: 'mia',
      gids: ['qa'],
      iat: 1_795_241_154,
      exp: 1_795_244_754,
      jti: 'token-1',
    });
    expect(identity({}).gids).toEqual([]);
  });

  test('[TK3] row 116: ten permission entries pass, eleven are refused naming permissions', () => {
    const entries = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`room-${index}`, ['*:read']]));
    expect(Object.keys(access({ permissions: entries(10) }).perms)).toHaveLength(10);
    expect(refusal(() => access({ permissions: entries(11) }))).toBe(
      "UNPROCESSABLE_ENTITY Value at key 'permissions' may have at most 10 entries.",
    );
  });

  test('[TK4] row 117: an asterisk stands at the end of a pattern or nowhere', () => {
    for (const pattern of ['*', 'a*', 'a', 'r'.repeat(128), `${'r'.repeat(128)}*`]) {
      expect(refusal(() => access({ permissions: { [pattern]: ['*:read'] } }))).toBe('accepted');
    }
    for (const pattern of ['*x', 'a*b', 'a**', '', 'r'.repeat(129)]) {
      expect(refusal(() => access({ permissions: { [pattern]: ['*:read'] } }))).toContain(
        `'permissions.${pattern}' must be a room ID, or a prefix with an asterisk at its end`,
      );
    }
    expect(refusal(() => access({ permissions: JSON.parse('{"__proto__":["*:read"]}') }))).toContain(
      'is a name that may not be used',
    );
  });

  test('[TK5] unknown permissions are refused naming the key and what is allowed; every list needs a base', () => {
    expect(refusal(() => access({ permissions: { a: ['room:admin'] } }))).toMatch(
      /'permissions\.a' holds "room:admin".*allowed are \*:read,/,
    );
    expect(refusal(() => access({ permissions: { a: ['comments:write'] } }))).toContain(
      "'permissions.a' needs a base permission",
    );
    expect(refusal(() => access({ permissions: { a: [] } }))).toContain("'permissions.a' needs a base permission");
  });

  test('[TK6] row 118: userId has 1 to 128 characters', () => {
    expect(access({ userId: 'u'.repeat(128) }).uid).toHaveLength(128);
    for (const userId of ['', 'u'.repeat(129)])
      expect(refusal(() => access({ userId }))).toContain("'userId' must have 1 to 128 characters");
    expect(refusal(() => identity({ userId: 'a\0' }))).toContain("'userId' may not hold");
  });

  test('[TK7] row 118: userInfo has at most 1,024 characters as JSON', () => {
    const info = (length: number) => ({ n: 'x'.repeat(length - JSON.stringify({ n: '' }).length) });
    expect(access({ userInfo: info(1_024) }).ui).toEqual(info(1_024));
    expect(refusal(() => access({ userInfo: info(1_025) }))).toContain("'userInfo' may have at most 1024 characters as JSON");
    expect(refusal(() => identity({ userInfo: info(1_025) }))).toContain("'userInfo'");
  });

  test('[TK45] userInfo is text that the database can hold, wherever it stands: webhooks tell of it', () => {
    for (const userInfo of [{ name: 'x\ud83d' }, { a: [{ 'b\0': 1 }] }])
      expect(refusal(() => access({ userInfo }))).toContain("'userInfo' may not hold U+0000 or half of a surrogate pair");
    expect(access({ userInfo: { name: '😀', of: [null, 1, true, '\\u0000'] } }).ui).toEqual({
      name: '😀',
      of: [null, 1, true, '\\u0000'],
    });
  });

  test('[TK8] at most 100 groups of 1 to 256 characters, an organisation of 1 to 128', () => {
    expect(identity({ groupIds: Array.from({ length: 100 }, (_, index) => `g${index}`) }).gids).toHaveLength(100);
    expect(refusal(() => identity({ groupIds: Array.from({ length: 101 }, (_, index) => `g${index}`) }))).toContain(
      "'groupIds' may have at most 100",
    );
    expect(refusal(() => identity({ groupIds: ['a', 'g'.repeat(257)] }))).toContain("'groupIds.1' must have 1 to 256 characters");
    expect(refusal(() => identity({ organizationId: '' }))).toContain("'organizationId' must have 1 to 128 characters");
    expect(identity({ organizationId: 'o'.repeat(128) }).oid).toHaveLength(128);
  });

  test('[TK9] a token stays small enough for the URL of a socket', () => {
    const groupIds = (length: number) => Array.from({ length: 50 }, (_, index) => `${index}`.padEnd(length, 'g'));
    expect(identity({ groupIds: groupIds(200) }).gids).toHaveLength(50);
    expect(refusal(() => identity({ groupIds: groupIds(240) }))).toContain(
      `'groupIds' makes the token larger than ${TOKEN_LIMITS.claimsLengthMax} bytes`,
    );
  });
});

describe('entry', () => {
  test('[TK10] an access token enters by its own permissions, whatever the room says', () => {
    const entry = entryFor(acc({ 'board:*': ['*:read'] }), room({ defaultAccesses: ['*:write'] }), 'board:7');
    expect(entry).toEqual({ userId: 'mia', info: null, permissions: permissionsOf(['*:read']), createIn: null });
    expect(refusal(() => entryFor(acc({ 'board:*': ['*:read'] }), room({ defaultAccesses: ['*:write'] }), 'other'))).toContain(
      'UNAUTHORIZED_ROOM_ACCESS',
    );
  });

  test('[TK11] an access token that permits an unknown room makes it, in its organisation; one that does not is refused', () => {
    expect(entryFor(acc({ '*': ['*:write'] }, 'acme'), null, 'new').createIn).toBe('acme');
    expect(refusal(() => entryFor(acc({ 'a*': ['*:write'] }), null, 'new'))).toContain('UNAUTHORIZED_ROOM_ACCESS');
  });

  test('[TK12] an ID token enters by the accesses of the room: default, groups, user', () => {
    const accesses = {
      defaultAccesses: ['*:read'],
      groupsAccesses: { qa: ['*:read', 'comments:write'] },
      usersAccesses: { bo: ['*:write'] },
    };
    expect(entryFor(id(), room(accesses), 'r').permissions).toEqual(permissionsOf(['*:read']));
    expect(entryFor(id(['qa']), room(accesses), 'r').permissions).toEqual(permissionsOf(['*:read', 'comments:write']));
    expect(refusal(() => entryFor(id(), room({ usersAccesses: { mia: [] }, defaultAccesses: ['*:write'] }), 'r'))).toContain(
      'UNAUTHORIZED_ROOM_ACCESS',
    );
    expect(refusal(() => entryFor(id(), room({}), 'r'))).toContain('UNAUTHORIZED_ROOM_ACCESS');
  });

  test('[TK13] an ID token or the public key makes no room', () => {
    expect(refusal(() => entryFor(id(), null, 'r'))).toContain('ROOM_NOT_FOUND');
    expect(refusal(() => entryFor(publicKey, null, 'r'))).toContain('ROOM_NOT_FOUND');
  });

  test('[TK14] the public key opens rooms whose default writes, anonymously and with their overrides; *:read is not public', () => {
    expect(entryFor(publicKey, room({ defaultAccesses: ['room:write'] }), 'r')).toEqual({
      userId: null,
      info: null,
      permissions: permissionsOf(['*:write', 'comments:read']),
      createIn: null,
    });
    expect(entryFor(publicKey, room({ defaultAccesses: ['*:write', 'storage:read'] }), 'r').permissions.storage).toBe('read');
    const some = entryFor(publicKey, room({ defaultAccesses: ['*:write', 'comments:private:none'] }), 'r').permissions;
    expect(scopesOf(some)).toEqual(['room:write', 'comments:read', 'comments:private:none']);
    expect(refusal(() => entryFor(publicKey, room({ defaultAccesses: ['*:read'] }), 'r'))).toContain('UNAUTHORIZED_ROOM_ACCESS');
    expect(refusal(() => entryFor(publicKey, room({}), 'r'))).toContain('UNAUTHORIZED_ROOM_ACCESS');
  });

  test('[TK15] a room of another organisation does not exist, for any credential', () => {
    const theirs = room({ defaultAccesses: ['*:write'] }, 'acme');
    for (const credential of [acc({ '*': ['*:write'] }), id(), publicKey])
      expect(refusal(() => entryFor(credential, theirs, 'r'))).toContain('ROOM_NOT_FOUND');
    expect(entryFor(acc({ '*': ['*:write'] }, 'acme'), theirs, 'r').permissions).toEqual(FULL_ACCESS);
    expect(entryFor(id([], 'acme'), theirs, 'r').permissions).toEqual(FULL_ACCESS);
  });
});
