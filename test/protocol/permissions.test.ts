import {
  hasPermissionAccess,
  mergeRoomPermissionScopes,
  permissionMatrixFromScopes,
  validatePermissionsSet,
} from '@liveblocks/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import {
  allows,
  checkScopes,
  FULL_ACCESS,
  NO_PERMISSIONS,
  PERMISSION_STRINGS,
  type Permissions,
  permissionsFromRoom,
  permissionsFromToken,
  permissionsOf,
  scopesOf,
} from '../../src/protocol/permissions.ts';

const RESOURCES = ['room', 'storage', 'comments', 'comments:public', 'comments:private', 'feeds'] as const;
const BASES = ['*:read', '*:write', 'room:read', 'room:write'];
const aList = fc.subarray([...PERMISSION_STRINGS], { minLength: 1 });
const aSet = aList.filter((scopes) => validatePermissionsSet(scopes) === true);
const room = (accesses: Partial<Parameters<typeof permissionsFromRoom>[0]>) => ({
  defaultAccesses: [],
  groupsAccesses: {},
  usersAccesses: {},
  ...accesses,
});
const mia = { userId: 'mia', groupIds: ['qa', 'dev'] };

/** What the SDK calls personal is not a right on a room. */
function asOurs(matrix: Record<string, string>): Record<string, string | undefined> {
  return Object.fromEntries(RESOURCES.map((resource) => [resource, matrix[resource]]));
}

describe('one list', () => {
  test('[PM1] there are exactly the 20 permission strings of the supplement', () => {
    expect([...PERMISSION_STRINGS].sort()).toEqual(
      [
        ...BASES,
        'room:presence:write',
        ...['storage', 'comments', 'comments:public', 'comments:private', 'feeds'].flatMap((r) => [
          `${r}:read`,
          `${r}:write`,
          `${r}:none`,
        ]),
      ].sort(),
    );
    expect(PERMISSION_STRINGS).toHaveLength(20);
  });

  test('[PM2] without a base there is no access, whatever else the list names', () => {
    expect(permissionsOf([])).toEqual(NO_PERMISSIONS);
    expect(permissionsOf(['comments:write', 'storage:write', 'room:presence:write'])).toEqual(NO_PERMISSIONS);
  });

  test('[PM3] an override raises or lowers one resource, a visibility beats comments, order means nothing', () => {
    const scopes = ['*:read', 'comments:write', 'comments:private:none', 'storage:none'];
    const expected: Permissions = {
      room: 'read',
      storage: 'none',
      comments: 'write',
      'comments:public': 'write',
      'comments:private': 'none',
      feeds: 'read',
    };
    expect(permissionsOf(scopes)).toEqual(expected);
    expect(permissionsOf(scopes.toReversed())).toEqual(expected);
  });

  test('[PM4] row 37: room:write is *:write, room:read is *:read, and of two levels the higher counts', () => {
    expect(permissionsOf(['room:write'])).toEqual(FULL_ACCESS);
    expect(permissionsOf(['room:read'])).toEqual(permissionsOf(['*:read']));
    expect(permissionsOf(['*:read', '*:write', 'storage:none', 'storage:read'])).toEqual({ ...FULL_ACCESS, storage: 'read' });
  });

  test('[PM5] every list resolves as the client SDK resolves it', () => {
    fc.assert(
      fc.property(aList, (scopes) => {
        const theirs = permissionMatrixFromScopes(scopes as never);
        expect(permissionsOf(scopes)).toEqual(asOurs(theirs as never));
        for (const resource of RESOURCES) {
          for (const needed of ['read', 'write'] as const) {
            expect(allows(permissionsOf(scopes), resource, needed)).toBe(hasPermissionAccess(theirs, resource, needed));
          }
        }
      }),
    );
  });

  test('[PM6] comments are allowed when either visibility is', () => {
    const onlyPrivate = permissionsOf(['*:read', 'comments:none', 'comments:private:write']);
    expect(allows(onlyPrivate, 'comments', 'write')).toBe(true);
    expect(allows(onlyPrivate, 'comments:public', 'read')).toBe(false);
    expect(allows(permissionsOf(['*:read']), 'comments', 'write')).toBe(false);
    expect(allows(NO_PERMISSIONS, 'room', 'read')).toBe(false);
  });

  test('[PM7] a matrix written as strings and read again is the same matrix, in the fewest strings', () => {
    expect(scopesOf(NO_PERMISSIONS)).toEqual([]);
    expect(scopesOf(FULL_ACCESS)).toEqual(['room:write']);
    expect(scopesOf(permissionsOf(['room:read', 'comments:write', 'comments:private:read', 'feeds:read']))).toEqual([
      'room:read',
      'comments:write',
      'comments:private:read',
    ]);
    fc.assert(
      fc.property(aList, (scopes) => {
        const matrix = permissionsOf(scopes);
        const written = scopesOf(matrix);
        expect(permissionsOf(written)).toEqual(matrix);
        if (written.length > 0) expect(validatePermissionsSet(written)).toBe(true);
      }),
    );
  });
});

test('[PM26] what is told names the base as SDKs from 3.14 on know it, and adds nothing that they take for more', () => {
  for (const scope of ['*:write', 'room:write']) expect(scopesOf(permissionsOf([scope]))).toEqual(['room:write']);
  for (const scope of ['*:read', 'room:read']) expect(scopesOf(permissionsOf([scope]))).toEqual(['room:read']);
  fc.assert(fc.property(aList, (scopes) => scopesOf(permissionsOf(scopes)).every((scope) => !scope.startsWith('*:'))));
});

describe('a token on a room', () => {
  test('[PM8] a pattern matches by its prefix, an exact key only its room', () => {
    expect(permissionsFromToken({ 'org:*': ['*:write'] }, 'org:1')).toEqual(FULL_ACCESS);
    expect(permissionsFromToken({ 'org:*': ['*:write'] }, 'org:')).toEqual(FULL_ACCESS);
    expect(permissionsFromToken({ 'org:*': ['*:write'] }, 'org')).toEqual(NO_PERMISSIONS);
    expect(permissionsFromToken({ org: ['*:write'] }, 'org:1')).toEqual(NO_PERMISSIONS);
    expect(permissionsFromToken({ '*': ['*:write'] }, 'anything')).toEqual(FULL_ACCESS);
    expect(permissionsFromToken({}, 'org')).toEqual(NO_PERMISSIONS);
  });

  test('[PM9] bases add up over patterns, every other resource follows the most specific pattern that names it', () => {
    const perms = {
      '*': ['*:write', 'storage:read'],
      'org:*': ['*:read', 'storage:write', 'comments:read'],
      'org:secret': ['*:read', 'storage:none'],
    };
    expect(permissionsFromToken(perms, 'org:secret')).toEqual({
      room: 'write',
      storage: 'none',
      comments: 'read',
      'comments:public': 'read',
      'comments:private': 'read',
      feeds: 'write',
    });
    expect(permissionsFromToken(perms, 'org:x').storage).toBe('write');
    expect(permissionsFromToken(perms, 'other').storage).toBe('read');
  });

  test('[PM10] of two equally specific patterns the higher level counts', () => {
    const perms = { 'a*': ['*:read', 'storage:none'], a: ['*:read', 'storage:write'] };
    expect(permissionsFromToken(perms, 'a').storage).toBe('write');
    expect(permissionsFromToken(Object.fromEntries(Object.entries(perms).reverse()), 'a').storage).toBe('write');
  });

  test('[PM11] comments named by the more specific pattern outrank a visibility named by a wider one', () => {
    const perms = { '*': ['*:read', 'comments:private:write'], a: ['*:read', 'comments:none'] };
    expect(permissionsFromToken(perms, 'a')['comments:private']).toBe('none');
    expect(permissionsFromToken(perms, 'b')['comments:private']).toBe('write');
  });
});

describe('the accesses of a room', () => {
  test('[PM12] default < groups < users; what a deeper list states replaces, what it leaves out stays', () => {
    const accesses = room({
      defaultAccesses: ['*:write', 'comments:none'],
      groupsAccesses: { qa: ['*:read'] },
      usersAccesses: { mia: ['*:read', 'storage:write'] },
    });
    expect(permissionsFromRoom(accesses, { userId: null, groupIds: [] })).toEqual(permissionsOf(['*:write', 'comments:none']));
    expect(permissionsFromRoom(accesses, { userId: 'bo', groupIds: ['qa'] })).toEqual(permissionsOf(['*:read', 'comments:none']));
    expect(permissionsFromRoom(accesses, mia)).toEqual(permissionsOf(['*:read', 'storage:write', 'comments:none']));
  });

  test('[PM13] groups merge by the highest', () => {
    const accesses = room({ groupsAccesses: { qa: ['*:read', 'storage:write'], dev: ['*:write', 'storage:read'] } });
    expect(permissionsFromRoom(accesses, mia)).toEqual(FULL_ACCESS);
    expect(permissionsFromRoom(accesses, { userId: 'mia', groupIds: ['other'] })).toEqual(NO_PERMISSIONS);
  });

  test("[PM25] one group's level for a visibility does not lower what another group's comments grant", () => {
    const accesses = room({
      groupsAccesses: { qa: ['*:write', 'comments:private:none'], dev: ['*:read', 'comments:read', 'feeds:none'] },
    });
    expect(permissionsFromRoom(accesses, mia)).toMatchObject({
      comments: 'read',
      'comments:public': 'read',
      'comments:private': 'read',
    });
  });

  test('[PM14] row 40: a user whose list is empty has no access, though groups and default grant it', () => {
    const accesses = room({
      defaultAccesses: ['*:write', 'storage:write'],
      groupsAccesses: { qa: ['*:write'] },
      usersAccesses: { mia: [] },
    });
    expect(permissionsFromRoom(accesses, mia)).toEqual(NO_PERMISSIONS);
    expect(permissionsFromRoom(accesses, { userId: 'bo', groupIds: [] })).toEqual(FULL_ACCESS);
  });

  test('[PM15] a group whose list is empty takes the default away, unless another group of the user grants', () => {
    const accesses = room({ defaultAccesses: ['*:write'], groupsAccesses: { qa: [], dev: ['*:read'] } });
    expect(permissionsFromRoom(accesses, { userId: 'mia', groupIds: ['qa'] })).toEqual(NO_PERMISSIONS);
    expect(permissionsFromRoom(accesses, mia)).toEqual(permissionsOf(['*:read']));
  });

  test('[PM16] names of the prototype are nobody', () => {
    expect(permissionsFromRoom(room({}), { userId: 'constructor', groupIds: ['toString'] })).toEqual(NO_PERMISSIONS);
  });

  test('[PM17] the three levels merge as the client SDK merges them', () => {
    fc.assert(
      fc.property(aSet, fc.array(aSet, { maxLength: 2 }), fc.option(aSet), (byDefault, groups, own) => {
        const theirs = mergeRoomPermissionScopes({
          defaultAccesses: byDefault as never,
          groupsAccesses: groups as never,
          userAccesses: (own ?? []) as never,
        });
        const accesses = room({
          defaultAccesses: byDefault,
          groupsAccesses: Object.fromEntries(groups.map((list, index) => [['qa', 'dev'][index], list])),
          usersAccesses: own === null ? {} : { mia: own },
        });
        expect(permissionsFromRoom(accesses, mia)).toEqual(asOurs(permissionMatrixFromScopes(theirs) as never));
      }),
      { numRuns: 2_000 }, // 100 runs sometimes missed a fault that shows only where the overrides of two groups cross
    );
  });
});

describe('a list as a client gave it', () => {
  const refusal = (scopes: unknown, rule: 'set' | 'union' = 'set') => {
    try {
      checkScopes(scopes, 'defaultAccesses', rule);
    } catch (error) {
      if (error instanceof AppError) return `${error.code} ${error.message}`;
      throw error;
    }
    return 'accepted';
  };

  test('[PM18] row 35: an unknown string is refused; the message names the key and lists what is allowed', () => {
    const message = refusal(['room:admin']);
    expect(message).toMatch(/^UNPROCESSABLE_ENTITY Value at key 'defaultAccesses' holds "room:admin", which is not a permission/);
    for (const scope of PERMISSION_STRINGS) expect(message).toContain(scope);
    expect(refusal([7])).toContain('holds 7');
    expect(refusal(['constructor'])).toContain('holds "constructor"');
  });

  test('[PM19] row 34: a string in place of the list is refused', () => {
    expect(refusal('*:write')).toContain("'defaultAccesses' must be an array of permissions");
    expect(refusal(null)).toContain('must be an array');
  });

  test('[PM20] row 36: overrides need a base', () => {
    expect(refusal(['comments:write'])).toContain('needs a base permission');
    expect(refusal(['room:presence:write'])).toContain('needs a base permission');
    expect(refusal(['comments:write', '*:read'])).toBe('accepted');
  });

  test('[PM21] row 38: a duplicate is refused in a room list, and dropped in a token list', () => {
    expect(refusal(['*:read', '*:read'])).toContain('holds a permission twice');
    expect(checkScopes(['*:read', '*:read'], 'permissions.a', 'union')).toEqual(['*:read']);
  });

  test('[PM22] a room list has one base and one level for each resource; a token list may have several', () => {
    expect(refusal(['*:read', 'room:write'])).toContain('holds 2 permissions for the base');
    expect(refusal(['*:read', 'storage:read', 'storage:none'])).toContain('holds 2 permissions for storage');
    expect(refusal(['*:read', '*:write', 'storage:none', 'storage:read'], 'union')).toBe('accepted');
  });

  test('[PM23] an empty list is a private room, but no list of a token', () => {
    expect(checkScopes([], 'defaultAccesses', 'set')).toEqual([]);
    expect(refusal([], 'union')).toContain('needs a base permission');
  });

  test('[PM24] a room list is accepted exactly when the client SDK accepts it', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...PERMISSION_STRINGS), { minLength: 1, maxLength: 6 }), (scopes) => {
        fc.pre(new Set(scopes).size === scopes.length);
        expect(refusal(scopes) === 'accepted').toBe(validatePermissionsSet(scopes) === true);
      }),
    );
  });
});
