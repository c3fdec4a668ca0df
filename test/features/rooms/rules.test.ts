import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import {
  checkUpsert,
  cursorAfter,
  fieldsAfter,
  fieldsOfNew,
  filterOf,
  newRoomOfUpsert,
  positionAt,
  touchesAccesses,
} from '../../../src/features/rooms/rules.ts';
import type { RoomFields } from '../../../src/features/rooms/shapes.ts';

const stored: RoomFields = {
  metadata: { stage: 'draft', tags: ['x', 'y'] },
  defaultAccesses: ['*:read'],
  usersAccesses: { mia: ['*:write'] },
  groupsAccesses: { qa: ['*:read', 'comments:write'] },
};
const create = (body: object) => fieldsOfNew({ defaultAccesses: [], ...body });
const update = (body: object, room = stored) => fieldsAfter(room, body);
const entries = <Value>(count: number, value: Value) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, value]));

function refusal(work: () => unknown): string {
  try {
    work();
  } catch (error) {
    if (error instanceof AppError && error.code === 'UNPROCESSABLE_ENTITY') return error.message;
    throw error;
  }
  return 'accepted';
}

describe('a new room', () => {
  test('[RM5] has what was given, and blanks and the default organisation for the rest', () => {
    expect(create({ defaultAccesses: ['*:write'], metadata: { a: 'b' } })).toEqual({
      organizationId: 'default',
      defaultAccesses: ['*:write'],
      metadata: { a: 'b' },
      usersAccesses: {},
      groupsAccesses: {},
    });
    expect(create({ organizationId: 'acme' }).organizationId).toBe('acme');
    expect(refusal(() => create({ organizationId: '' }))).toContain("'organizationId' must have 1 to 128 characters");
  });

  test('[RM6] row 26: 50 metadata entries pass, 51 are refused', () => {
    expect(Object.keys(create({ metadata: entries(50, 'v') }).metadata)).toHaveLength(50);
    expect(refusal(() => create({ metadata: entries(51, 'v') }))).toBe(
      "Value at key 'metadata' may have at most 50 entries; it would have 51.",
    );
  });

  test('[RM7] row 28: metadata keys have up to 40 characters, values and array items up to 256', () => {
    expect(refusal(() => create({ metadata: { ['k'.repeat(40)]: 'v'.repeat(256), list: ['v'.repeat(256)] } }))).toBe('accepted');
    expect(refusal(() => create({ metadata: { ['k'.repeat(41)]: 'v' } }))).toContain('must have 1 to 40 characters');
    expect(refusal(() => create({ metadata: { '': 'v' } }))).toContain('must have 1 to 40 characters');
    expect(refusal(() => create({ metadata: { a: 'v'.repeat(257) } }))).toContain(
      "'metadata.a' must have at most 256 characters",
    );
    expect(refusal(() => create({ metadata: { a: ['v'.repeat(257)] } }))).toContain(
      "'metadata.a' must have at most 256 characters",
    );
    expect(refusal(() => create({ metadata: { a: Array.from({ length: 100 }, () => 'v') } }))).toBe('accepted');
    expect(refusal(() => create({ metadata: { a: Array.from({ length: 101 }, () => 'v') } }))).toContain(
      "'metadata.a' may have at most 100 items",
    );
  });

  test('[RM10] rows 35 to 38 hold for every list of a room, and the key names it', () => {
    expect(refusal(() => create({ defaultAccesses: ['room:admin'] }))).toContain("'defaultAccesses' holds");
    expect(refusal(() => create({ usersAccesses: { mia: ['comments:write'] } }))).toContain(
      "'usersAccesses.mia' needs a base permission",
    );
    expect(create({ defaultAccesses: ['room:write'] }).defaultAccesses).toEqual(['room:write']);
  });

  test('[RM11] row 39: ids in accesses have up to 256 characters, and none reaches a prototype', () => {
    expect(refusal(() => create({ usersAccesses: { ['u'.repeat(256)]: [] } }))).toBe('accepted');
    expect(refusal(() => create({ usersAccesses: { ['u'.repeat(257)]: [] } }))).toContain('must have 1 to 256 characters');
    for (const key of ['metadata', 'usersAccesses', 'groupsAccesses']) {
      expect(refusal(() => create(JSON.parse(`{"${key}":{"__proto__":["*:read"]}}`)))).toContain(
        `'${key}.__proto__' is a name that may not be used`,
      );
    }
  });

  test('[RM12] nothing is taken that the database cannot hold', () => {
    expect(refusal(() => create({ metadata: { a: 'x\0' } }))).toContain("'metadata.a' may not hold U+0000");
    expect(refusal(() => create({ metadata: { a: ['\ud800'] } }))).toContain("'metadata.a' may not hold");
    expect(refusal(() => create({ usersAccesses: { 'a\0': [] } }))).toContain('may not hold U+0000');
  });
});

describe('an update', () => {
  test('[RM13] keeps what it does not name', () => {
    expect(update({})).toEqual(stored);
    expect(update({ metadata: { stage: 'final' } })).toEqual({ ...stored, metadata: { stage: 'final', tags: ['x', 'y'] } });
  });

  test('[RM14] row 31: a key set to null is removed, an absent one is no error', () => {
    expect(update({ metadata: { tags: null, none: null } }).metadata).toEqual({ stage: 'draft' });
    expect(update({ usersAccesses: { mia: null, bo: ['*:read'] } }).usersAccesses).toEqual({ bo: ['*:read'] });
    expect(update({ groupsAccesses: { qa: null } }).groupsAccesses).toEqual({});
  });

  test('[RM15] row 32: a whole map set to null is cleared', () => {
    expect(update({ metadata: null, usersAccesses: null, groupsAccesses: null })).toEqual({
      metadata: {},
      usersAccesses: {},
      groupsAccesses: {},
      defaultAccesses: ['*:read'],
    });
  });

  test('[RM16] row 33: defaultAccesses set to null makes the room private', () => {
    expect(update({ defaultAccesses: null }).defaultAccesses).toEqual([]);
  });

  test('[RM17] row 27: limits count what would be there afterwards', () => {
    const full = { ...stored, metadata: entries(50, 'v') };
    expect(refusal(() => update({ metadata: { more: 'v' } }, full))).toContain('it would have 51');
    expect(Object.keys(update({ metadata: { more: 'v', k0: null } }, full).metadata)).toHaveLength(50);
  });

  test('[RM18] row 39: 1,000 ids in accesses pass, one more is refused', () => {
    const full = { ...stored, usersAccesses: entries(999, ['*:read']), groupsAccesses: entries(1_000, ['*:read']) };
    expect(Object.keys(update({ usersAccesses: { more: [] } }, full).usersAccesses)).toHaveLength(1_000);
    expect(refusal(() => update({ usersAccesses: { more: [], other: [] } }, full))).toContain(
      "'usersAccesses' may have at most 1000 entries; it would have 1001",
    );
    expect(refusal(() => update({ groupsAccesses: { more: [] } }, full))).toContain(
      "'groupsAccesses' may have at most 1000 entries",
    );
  });

  test('[RM19] row 40: a user may be given an empty list', () => {
    expect(update({ usersAccesses: { mia: [] } }).usersAccesses).toEqual({ mia: [] });
  });

  test('[RM20] does not change the room it was given', () => {
    const before = structuredClone(stored);
    update({ metadata: { a: 'b', stage: null }, usersAccesses: null });
    expect(stored).toEqual(before);
  });

  test('[RM21] touches accesses when it names any of them', () => {
    expect(touchesAccesses({ metadata: { a: 'b' } })).toBe(false);
    expect(touchesAccesses({ defaultAccesses: null })).toBe(true);
    expect(touchesAccesses({ usersAccesses: {} })).toBe(true);
    expect(touchesAccesses({ groupsAccesses: null })).toBe(true);
  });
});

describe('an upsert', () => {
  test('[RM22] makes a room from create with update on top', () => {
    const create = { defaultAccesses: ['*:read'], organizationId: 'acme', metadata: { a: '1', b: '1' } };
    expect(newRoomOfUpsert({ create, update: { metadata: { b: '2', a: null }, defaultAccesses: ['*:write'] } })).toEqual({
      organizationId: 'acme',
      defaultAccesses: ['*:write'],
      metadata: { b: '2' },
      usersAccesses: {},
      groupsAccesses: {},
    });
    expect(newRoomOfUpsert({ create, update: { defaultAccesses: null } })?.defaultAccesses).toEqual([]);
    expect(newRoomOfUpsert({ update: { defaultAccesses: ['*:write'] } })?.defaultAccesses).toEqual(['*:write']);
  });

  test('[RM23] row 43: makes none when nobody gives default accesses', () => {
    expect(newRoomOfUpsert({ update: {} })).toBeNull();
    expect(newRoomOfUpsert({ update: { defaultAccesses: null } })).toBeNull();
  });

  test('[RM24] checks both parts though the room may exist, and says in which the fault is', () => {
    const long = { a: 'v'.repeat(257) };
    const create = { defaultAccesses: [] };
    expect(refusal(() => checkUpsert({ update: { metadata: long } }))).toContain("'update.metadata.a'");
    expect(refusal(() => checkUpsert({ update: {}, create: { ...create, metadata: long } }))).toContain("'create.metadata.a'");
    for (const key of ['defaultAccesses', 'usersAccesses', 'groupsAccesses']) {
      const wrong = { [key]: key === 'defaultAccesses' ? ['x'] : { u: ['x'] } };
      const shown = key === 'defaultAccesses' ? key : `${key}.u`;
      expect(refusal(() => checkUpsert({ update: wrong, create }))).toContain(`'update.${shown}'`);
      expect(refusal(() => checkUpsert({ update: {}, create: { ...create, ...wrong } }))).toContain(`'create.${shown}'`);
    }
    expect(refusal(() => checkUpsert({ update: {}, create: { ...create, organizationId: '' } }))).toContain(
      "'create.organizationId'",
    );
  });

  test('[RM71] takes the organisation under its older name, too, and not under both', () => {
    const create = { defaultAccesses: [], tenantId: 'acme' };
    expect(newRoomOfUpsert({ update: {}, create })?.organizationId).toBe('acme');
    expect(refusal(() => checkUpsert({ update: {}, create: { ...create, tenantId: '' } }))).toContain(
      "'create.tenantId' must have",
    );
    expect(refusal(() => checkUpsert({ update: {}, create: { ...create, organizationId: 'acme' } }))).toContain(
      "'create.tenantId' is the older name",
    );
  });

  test('[RM24] what both parts come to together counts only where there is no room yet', () => {
    const entries = (name: string, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, n) => [`${name}${n}`, 'v']));
    const upsert = { create: { defaultAccesses: [], metadata: entries('a', 50) }, update: { metadata: entries('b', 1) } };
    expect(() => checkUpsert(upsert)).not.toThrow();
    expect(refusal(() => newRoomOfUpsert(upsert))).toContain("'update.metadata' may have at most 50 entries");
  });
});

describe('the list', () => {
  const none = { organizationId: null, userId: null, groupIds: null, clauses: [] };

  test('[RM71] tenantId is the older name of organizationId; both at once are refused', () => {
    expect(filterOf({ tenantId: 'acme' })).toEqual({ ...none, organizationId: 'acme' });
    expect(refusal(() => filterOf({ tenantId: 'acme', organizationId: 'acme' }))).toContain("'tenantId' is the older name");
  });

  test('[RM25] no parameter, no filter; an empty query is none either', () => {
    expect(filterOf({})).toEqual(none);
    expect(filterOf({ query: '' })).toEqual(none);
    expect(filterOf({ limit: 5, startingAfter: 'x' })).toEqual(none);
  });

  test('[RM26] an empty user, group list or organisation is a filter that finds nothing, not the lack of one', () => {
    expect(filterOf({ userId: '', groupIds: '', organizationId: '' })).toEqual({
      ...none,
      userId: '',
      groupIds: [],
      organizationId: '',
    });
  });

  test('[RM27] groupIds is a comma list; the older metadata.KEY parameters are clauses', () => {
    expect(filterOf({ groupIds: 'a,b,,c' }).groupIds).toEqual(['a', 'b', 'c']);
    expect(filterOf({ query: 'roomId^"a"', 'metadata.stage': 'draft' }).clauses).toEqual([
      { field: 'roomId', key: null, operator: '^', value: 'a' },
      { field: 'metadata', key: 'stage', operator: ':', value: 'draft' },
    ]);
    expect(refusal(() => filterOf({ [`metadata.${'k'.repeat(41)}`]: 'v' }))).toContain('must have 1 to 40 characters');
  });

  test('[RM74] any other parameter is refused by name', () => {
    for (const key of ['metadata[t]', 'metadata', 'Limit', 'constructor', ''])
      expect(refusal(() => filterOf({ limit: 20, [key]: 'x' }))).toContain(`Value at key '${key}' is not known here.`);
  });

  test('[RM28] the query takes roomId and metadata with strings; null, numbers and comparisons are refused with their column', () => {
    expect(filterOf({ query: `roomId:"a" metadata['k']^'v'` }).clauses).toHaveLength(2);
    expect(refusal(() => filterOf({ query: 'metadata["c"]:null' }))).toContain('column 15: expected a quoted string');
    expect(refusal(() => filterOf({ query: 'metadata["c"]>3' }))).toContain('column 14: expected one of the operators');
    expect(refusal(() => filterOf({ query: 'resolved:true' }))).toContain('column 1: expected a field (roomId, metadata)');
  });

  test('[RM29] what the database cannot hold is refused by name', () => {
    for (const key of ['userId', 'groupIds', 'organizationId', 'query', 'metadata.k']) {
      expect(refusal(() => filterOf({ [key]: 'a\0' }))).toContain(`'${key}' may not hold U+0000`);
    }
  });

  test('[RM30] a cursor leads back to its place, in a list with the same filter', () => {
    const filter = filterOf({ userId: 'mia' });
    const position = { createdAt: '2031-02-03T04:05:06.007Z', pk: 42 };
    expect(positionAt(cursorAfter(position, filter), filter)).toEqual(position);
    expect(refusal(() => positionAt(cursorAfter(position, filter), filterOf({ userId: 'bo' })))).toBe(
      "Value at key 'startingAfter' is a cursor of a list with other filters.",
    );
  });

  test('[RM31] row 16: garbage is no cursor', () => {
    const made = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const at = '2031-02-03T04:05:06.007Z';
    const garbage = [
      '',
      'x',
      '%%%',
      made(null),
      made([]),
      made(7),
      made([at]),
      made([at, 'x']),
      made([at, 1.5]),
      made(['x', 1]),
      made(['+275760-09-13T00:00:00.000Z', 1]),
      made(['2031-02-33T04:05:06.007Z', 1]),
      made(['2031-02-30T04:05:06.007Z', 1]),
      made(['0000-02-03T04:05:06.007Z', 1]),
      made(['2031-02-03T04:05Z', 1]),
      made([at, 2 ** 60]),
    ];
    for (const cursor of garbage) {
      expect(refusal(() => positionAt(cursor, filterOf({})))).toBe("Value at key 'startingAfter' is not a cursor of this list.");
    }
  });
});
