import { beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { asRoomId } from '../../../src/base/ids.ts';
import {
  atEntry,
  changeRoom,
  deleteRoom,
  findOrCreateRoom,
  findRoom,
  findRoomForEntry,
  listRooms,
  moveRoom,
  type NewRoom,
  noteVisits,
  renameRoom,
  roomOf,
  roomOnEntry,
  upsertRoom,
} from '../../../src/features/rooms/queries.ts';
import { filterOf, type Position } from '../../../src/features/rooms/rules.ts';
import type { RoomFields } from '../../../src/features/rooms/shapes.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { planOf } from '../../support/plan.ts';
import { usePostgres } from '../../support/postgres.ts';

const postgres = usePostgres();
const T0 = Date.parse('2031-02-03T04:05:06.007Z');
const isoAt = (offsetMs: number) => new Date(T0 + offsetMs).toISOString();
const r = asRoomId;

const aRoom = (id: string, more: Partial<NewRoom> = {}): NewRoom => ({
  id: r(id),
  organizationId: 'default',
  nowIso: isoAt(0),
  metadata: {},
  defaultAccesses: [],
  usersAccesses: {},
  groupsAccesses: {},
  ...more,
});
const fields: RoomFields = {
  metadata: { a: 'b' },
  defaultAccesses: ['*:read'],
  usersAccesses: { mia: ['*:write'] },
  groupsAccesses: {},
};
const owners = (db: Sql) =>
  db.query(sql<{ id: string; epoch: number; owner: string | null }>`
    select id, epoch, owner from actor_owner left join rooms on pk = stream order by id`);

async function refusal(promise: Promise<unknown>): Promise<string> {
  try {
    await promise;
  } catch (error) {
    if (error instanceof AppError) return `${error.code} ${error.message}`;
    throw error;
  }
  return 'accepted';
}

/** Gives the room an owner, as a claim does. */
async function claim(db: Sql, id: string): Promise<void> {
  await db.query(
    sql`update actor_owner set epoch = epoch + 1, owner = gen_random_uuid() where stream = (select pk from rooms where id = ${id})`,
  );
}

describe('one room', () => {
  let db: Sql;
  beforeAll(async () => {
    db = await postgres.open();
  });

  test('[RM33] is stored as given and shown as the contract shows it, without lastConnectionAt until somebody connected', async () => {
    const { room, isNew } = await findOrCreateRoom(
      db,
      aRoom('shown', { ...fields, metadata: { tags: ['x', 'y'], one: ['z'], s: 't' } }),
    );
    expect(isNew).toBe(true);
    const expected = {
      type: 'room',
      id: 'shown',
      createdAt: isoAt(0),
      organizationId: 'default',
      metadata: { tags: ['x', 'y'], one: ['z'], s: 't' },
      defaultAccesses: ['*:read'],
      usersAccesses: { mia: ['*:write'] },
      groupsAccesses: {},
    };
    expect(roomOf(room)).toEqual(expected);
    await noteVisits(db, [{ roomId: r('shown'), atIso: isoAt(5) }]);
    await noteVisits(db, [
      { roomId: r('shown'), atIso: isoAt(3) },
      { roomId: r('none'), atIso: isoAt(3) },
    ]);
    const found = await findRoom(db, r('shown'));
    expect(roomOf(found!)).toEqual({ ...expected, lastConnectionAt: isoAt(5) });
    expect(await findRoom(db, r('none'))).toBeNull();
  });

  test('[RM34] made by ten at once, it is made once, with one owner row, and all get the same', async () => {
    const made = await Promise.all(
      Array.from({ length: 10 }, (_, n) => findOrCreateRoom(db, aRoom('race', { metadata: { n: `${n}` } }))),
    );
    expect(made.filter(({ isNew }) => isNew)).toHaveLength(1);
    expect(new Set(made.map(({ room }) => JSON.stringify(room)))).toHaveProperty('size', 1);
    expect((await owners(db)).filter(({ id }) => id === 'race')).toEqual([{ id: 'race', epoch: 0, owner: null }]);
  });

  test('[RM35] ten concurrent changes of different keys are all kept', async () => {
    await findOrCreateRoom(db, aRoom('busy'));
    await Promise.all(
      Array.from({ length: 10 }, (_, n) =>
        changeRoom(db, r('busy'), (room) => ({ ...room, metadata: { ...room.metadata, [`k${n}`]: 'v' } })),
      ),
    );
    expect(Object.keys((await findRoom(db, r('busy')))!.metadata)).toHaveLength(10);
  });

  test('[RM36] a change that is refused changes nothing; one of a missing room is null', async () => {
    await findOrCreateRoom(db, aRoom('kept', fields));
    const refused = changeRoom(db, r('kept'), () => {
      throw new AppError('UNPROCESSABLE_ENTITY', { key: 'metadata', reason: 'is too much' });
    });
    expect(await refusal(refused)).toContain('is too much');
    expect((await findRoom(db, r('kept')))!.metadata).toEqual({ a: 'b' });
    expect(await changeRoom(db, r('none'), (room) => room)).toBeNull();
  });

  test('[RM37] an upsert makes the room from its fields, and changes it when it is there', async () => {
    const upsert = (given: typeof fields | null) =>
      upsertRoom(db, {
        id: r('up'),
        nowIso: isoAt(0),
        fieldsIfNew: () => (given === null ? null : { organizationId: 'acme', ...given }),
        change: (room) => ({ ...room, metadata: { ...room.metadata, changed: 'yes' } }),
      });
    expect(await refusal(upsert(null))).toBe("UNPROCESSABLE_ENTITY Missing key 'defaultAccesses'.");
    expect(await upsert(fields)).toMatchObject({ organizationId: 'acme', metadata: { a: 'b' } });
    expect(await upsert(null)).toMatchObject({ organizationId: 'acme', metadata: { a: 'b', changed: 'yes' } });
  });

  test('[RM38] ten upserts at once make one room and keep every change', async () => {
    await Promise.all(
      Array.from({ length: 10 }, (_, n) => {
        const change = (room: RoomFields) => ({ ...room, metadata: { ...room.metadata, [`k${n}`]: 'v' } });
        return upsertRoom(db, {
          id: r('up10'),
          nowIso: isoAt(0),
          fieldsIfNew: () => ({ organizationId: 'default', ...change({ ...fields, metadata: {} }) }),
          change,
        });
      }),
    );
    expect(Object.keys((await findRoom(db, r('up10')))!.metadata)).toHaveLength(10);
  });

  test('[RM77] a room whose last owner has ended is recalled from nobody', async () => {
    for (const id of ['ended', 'alive']) {
      await findOrCreateRoom(db, aRoom(id));
      const [{ owner }] = (await db.query(sql<{ owner: string }>`
        update actor_owner set epoch = 1, owner = gen_random_uuid() where stream = (select pk from rooms where id = ${id}) returning owner`)) as [
        { owner: string },
      ];
      await db.query(sql`
        insert into worker_lease (incarnation, address, lease_until, fenced_at)
        values (${owner}, 'a:1', now() + interval '1 hour', ${id === 'ended' ? isoAt(0) : null}::timestamptz)`);
      await deleteRoom(db, r(id));
      const recalls = await db.query(sql`select 1 from recalls where incarnation = ${owner}`);
      expect([id, recalls.length]).toEqual([id, id === 'ended' ? 0 : 1]);
    }
  });

  test('[RM39] deletion takes owner and journal along, is idempotent, and a room made anew is another one', async () => {
    const { room } = await findOrCreateRoom(db, aRoom('gone'));
    await claim(db, 'gone');
    await db.query(
      sql`insert into journal (stream, version, count, epoch, crc, payload) values (${room.pk}, 1, 1, 1, 0, '\\x00')`,
    );
    expect(await deleteRoom(db, r('gone'))).toEqual({ value: true, ownerAt: null }); // its owner holds no lease
    expect(await deleteRoom(db, r('gone'))).toBeNull();
    expect(
      await db.query(
        sql`select 1 from journal where stream = ${room.pk} union all select 1 from actor_owner where stream = ${room.pk}`,
      ),
    ).toEqual([]);
    expect((await findOrCreateRoom(db, aRoom('gone'))).room.pk).not.toBe(room.pk);
  });

  test('[RM40] a renamed room keeps its number and content, and fences its owner', async () => {
    const { room } = await findOrCreateRoom(db, aRoom('old', fields));
    await claim(db, 'old');
    const renamed = await renameRoom(db, { roomId: r('old'), newRoomId: r('new') });
    expect(renamed.value).toEqual({ ...room, id: 'new' });
    const [owned] = (await owners(db)).filter(({ id }) => id === 'new');
    expect(owned).toMatchObject({ epoch: 2, owner: expect.any(String) }); // nobody else may claim it while that one may answer
    expect(await db.query(sql`select stream, epoch from recalls where incarnation = ${owned!.owner}`)).toEqual([
      { stream: room.pk, epoch: 2 },
    ]);
    expect(await findRoom(db, r('old'))).toBeNull();
  });

  test('[RM41] row 47: a room is not renamed over another, nor when it is missing; its owner then stays', async () => {
    await findOrCreateRoom(db, aRoom('one'));
    await findOrCreateRoom(db, aRoom('two'));
    await claim(db, 'one');
    expect(await refusal(renameRoom(db, { roomId: r('one'), newRoomId: r('two') }))).toBe(
      'ROOM_ALREADY_EXISTS The room "two" exists already.',
    );
    expect((await owners(db)).find(({ id }) => id === 'one')).toMatchObject({ epoch: 1, owner: expect.any(String) });
    expect(await refusal(renameRoom(db, { roomId: r('none'), newRoomId: r('three') }))).toContain('ROOM_NOT_FOUND');
  });

  test('[RM42] two rooms renamed to one id at once: one succeeds, the other hears that it exists', async () => {
    await findOrCreateRoom(db, aRoom('left'));
    await findOrCreateRoom(db, aRoom('right'));
    const outcomes = await Promise.all(
      ['left', 'right'].map((id) => refusal(renameRoom(db, { roomId: r(id), newRoomId: r('middle') }))),
    );
    expect(outcomes.map((outcome) => outcome.split(' ')[0]).sort()).toEqual(['ROOM_ALREADY_EXISTS', 'accepted']);
  });

  test('[RM43] row 49: a room moves from the organisation it is in, and from no other', async () => {
    await findOrCreateRoom(db, aRoom('moved'));
    await claim(db, 'moved');
    expect(await refusal(moveRoom(db, { roomId: r('moved'), from: 'acme', to: 'other' }))).toContain(
      "UNPROCESSABLE_ENTITY Value at key 'fromOrganizationId'",
    );
    expect((await owners(db)).find(({ id }) => id === 'moved')).toMatchObject({ epoch: 1, owner: expect.any(String) });
    expect(await moveRoom(db, { roomId: r('moved'), from: 'default', to: 'acme' })).toMatchObject({
      value: { organizationId: 'acme' },
    });
    expect((await owners(db)).find(({ id }) => id === 'moved')).toMatchObject({ epoch: 2, owner: expect.any(String) });
    expect(await refusal(moveRoom(db, { roomId: r('none'), from: 'default', to: 'acme' }))).toContain('ROOM_NOT_FOUND');
  });

  test('[RM44] a room made by entering is private, in the organisation of who entered; one that is there stays as it is', async () => {
    const enter = async (id: string) => {
      const entered = roomOnEntry({ roomId: r(id), organizationId: 'acme', nowIso: isoAt(0) });
      return atEntry((await findOrCreateRoom(db, entered)).room);
    };
    expect(await enter('entered')).toEqual({
      pk: expect.any(Number),
      id: 'entered',
      organizationId: 'acme',
      accesses: { defaultAccesses: [], usersAccesses: {}, groupsAccesses: {} },
    });
    await findOrCreateRoom(db, aRoom('there', fields));
    const found = await findRoomForEntry(db, r('there'));
    expect(found).toMatchObject({
      organizationId: 'default',
      accesses: { defaultAccesses: ['*:read'], usersAccesses: { mia: ['*:write'] } },
    });
    expect(await enter('there')).toEqual(found);
    expect(await findRoomForEntry(db, r('none'))).toBeNull();
  });
});

describe('the list', () => {
  let db: Sql;
  beforeAll(async () => {
    db = await postgres.open();
    const rooms: NewRoom[] = [
      aRoom('a:1', { metadata: { stage: 'draft', tags: ['draft'] }, usersAccesses: { mia: ['*:read'] } }),
      aRoom('a:2', { metadata: { stage: 'final' }, groupsAccesses: { qa: ['*:read'] } }),
      aRoom('b%1', { metadata: { stage: 'draft-2' }, usersAccesses: { mia: [] }, groupsAccesses: { dev: [] } }),
      aRoom('B_1', { metadata: { '["x"]': '["draft"]' }, organizationId: 'acme', defaultAccesses: ['*:write'] }),
    ];
    for (const [index, room] of rooms.entries()) await findOrCreateRoom(db, { ...room, nowIso: isoAt(index) });
  });

  const idsOf = async (parameters: Record<string, string>) =>
    (await listRooms(db, { filter: filterOf(parameters), after: null, limit: 100 })).map(({ id }) => id);

  test('[RM45] rule 1: newest first', async () => {
    expect(await idsOf({})).toEqual(['B_1', 'b%1', 'a:2', 'a:1']);
  });

  test.each([
    ['roomId^"a:"', ['a:2', 'a:1']],
    ['roomId^"b%"', ['b%1']],
    ['roomId^"b"', ['b%1']],
    ['roomId^"B_"', ['B_1']],
    ['roomId^""', ['B_1', 'b%1', 'a:2', 'a:1']],
    ['roomId:"a:1"', ['a:1']],
    ['metadata["stage"]:"draft"', ['a:1']],
    ['metadata["stage"]^"draft"', ['b%1', 'a:1']],
    ['metadata["tags"]:"draft"', []],
    ['metadata["tags"]^"["', []],
    [`metadata['["x"]']:'["draft"]'`, ['B_1']],
    ['roomId^"a:" AND metadata["stage"]:"final"', ['a:2']],
    ['roomId:"a:1" roomId:"a:2"', []],
    [`metadata["stage"]:"' or true --"`, []],
  ])('[RM46] rule 2: query %s', async (query, ids) => {
    expect(await idsOf({ query })).toEqual(ids);
  });

  test('[RM47] userId and groupIds are alternatives, all else must hold too; a list of none does not count, nor does the default', async () => {
    expect(await idsOf({ userId: 'mia' })).toEqual(['a:1']);
    expect(await idsOf({ groupIds: 'qa,dev' })).toEqual(['a:2']);
    expect(await idsOf({ groupIds: 'dev' })).toEqual([]);
    expect(await idsOf({ userId: 'mia', groupIds: 'qa' })).toEqual(['a:2', 'a:1']);
    expect(await idsOf({ userId: 'mia', groupIds: 'qa', query: 'metadata["stage"]:"final"' })).toEqual(['a:2']);
    expect(await idsOf({ userId: 'mia', groupIds: 'qa', organizationId: 'acme' })).toEqual([]);
    expect(await idsOf({ userId: '', groupIds: '' })).toEqual([]);
  });

  test.each([
    [{ userId: 'mia' }, ['rooms_users']],
    [{ groupIds: 'qa,dev' }, ['rooms_groups']],
    [{ userId: 'mia', groupIds: 'qa' }, ['rooms_users', 'rooms_groups']],
    [{ query: 'metadata["stage"]:"final"' }, ['rooms_metadata']],
  ])('[RM73] who is named by few rooms, or what, is found by an index: %j', async (parameters, indexes) => {
    const list = (explaining: Sql) => listRooms(explaining, { filter: filterOf(parameters), after: null, limit: 10 });
    const plan = await planOf(db, list, { without: ['enable_seqscan', 'enable_indexscan'] }); // leaves bitmaps: what a large table would get
    for (const index of indexes) expect(plan).toContain(`Bitmap Index Scan on ${index}`);
  });

  test('[RM48] organizationId and the older metadata.KEY parameters', async () => {
    expect(await idsOf({ organizationId: 'acme' })).toEqual(['B_1']);
    expect(await idsOf({ organizationId: '' })).toEqual([]);
    expect(await idsOf({ 'metadata.stage': 'final' })).toEqual(['a:2']);
    expect(await idsOf({ 'metadata.stage': 'final', 'metadata.other': 'x' })).toEqual([]);
  });

  test('[RM49] pages neither skip nor repeat, though rooms share their time and new ones come in between', async () => {
    const paged = await postgres.open();
    for (let n = 0; n < 7; n += 1) await findOrCreateRoom(paged, aRoom(`p${n}`, { nowIso: isoAt(n < 5 ? 0 : 1) }));
    const seen: string[] = [];
    let after: Position | null = null;
    for (let page = 0; page < 4; page += 1) {
      const rooms = await listRooms(paged, { filter: filterOf({}), after, limit: 2 });
      seen.push(...rooms.map(({ id }) => id));
      after = rooms.at(-1) ?? null;
      await findOrCreateRoom(paged, aRoom(`late${page}`, { nowIso: isoAt(2 + page) }));
    }
    expect(seen).toEqual(['p6', 'p5', 'p4', 'p3', 'p2', 'p1', 'p0']);
  });
});
