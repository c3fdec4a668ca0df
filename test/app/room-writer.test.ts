import { beforeAll, expect, test } from 'vitest';
import { RoomWriter } from '../../src/app/room-writer.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { changeRoom, findRoom, type NewRoom, noteVisits, type RoomRow, renameRoom } from '../../src/features/rooms/queries.ts';
import type { RoomFields } from '../../src/features/rooms/shapes.ts';
import { type Query, type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { manualClock } from '../support/manual-clock.ts';
import { usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
const NOW = '2031-02-03T04:05:06.007Z';

let real: Sql;
const clock = manualClock();

beforeAll(async () => {
  real = await postgres.open();
});

/** A writer over the real database, which counts its statements; before the `n`-th of them something else may happen. */
function aWriter(before: (query: Query) => Promise<void> = async () => undefined) {
  const statements: string[] = [];
  const counting = (db: Sql): Sql => ({
    async query(query) {
      statements.push(query.name ?? '');
      await before(query);
      return db.query(query);
    },
    change: (query) => db.change(query),
    transaction: (work) => db.transaction((tx) => work(counting(tx))),
  });
  const db = counting(real);
  const writer = new RoomWriter({ db, clock: { ...systemClock, monotonicMs: () => clock.monotonicMs() } });
  return { writer, db, statements };
}

const aRoom = (id: string, metadata = {}): NewRoom => ({
  ...{ id: asRoomId(id), nowIso: NOW, organizationId: 'default', metadata },
  ...{ defaultAccesses: [], usersAccesses: {}, groupsAccesses: {} },
});
const withKey =
  (key: string) =>
  (room: RoomRow): RoomFields => ({ ...room, metadata: { ...room.metadata, [key]: 'v' } });
const refuse = (): never => {
  throw new AppError('UNPROCESSABLE_ENTITY', { reason: 'no' });
};
const keysOf = (room: RoomRow | null): string[] => Object.keys(room?.metadata ?? {}).sort();

const tellOf = (db: Sql, event: string) =>
  db.query(sql`
    insert into webhooks (id, url, subscribed_events, storage_throttle_s, ydoc_throttle_s, secret)
    values (${`wh_${event}`}, 'https://example.org', ${[event]}::text[], 10, 10, 'whsec_')`);

test('[AX14] that a room was made is told only if some webhook wants to hear of it', async () => {
  const made = async (db: Sql, id: string) => {
    await new RoomWriter({ db, clock: systemClock }).make(db, aRoom(id));
    return (await db.query<{ of: string }>(sql`select payload ->> 'roomId' as of from outbox`)).map(({ of }) => of);
  };
  const db = await postgres.open();
  expect(await made(db, 'before')).toEqual([]);
  await tellOf(db, 'roomDeleted');
  expect(await made(db, 'others')).toEqual([]);
  await tellOf(db, 'roomCreated');
  expect(await made(db, 'heard')).toEqual(['heard']);
  await db.query(sql`update webhooks set disabled = true`);
  expect(await made(db, 'disabled')).toEqual(['heard']);
});

test('[AX9] ten that are made at once share commits, and of one id only the first is new', async () => {
  await tellOf(real, 'roomCreated');
  const { writer, db, statements } = aWriter();
  const rooms = Array.from({ length: 9 }, (_, n) => aRoom(`made-${n}`));
  const found = await Promise.all([...rooms, aRoom('made-8', { late: 'yes' })].map((room) => writer.make(db, room)));
  expect(found.map(({ isNew }) => isNew)).toEqual([...Array.from({ length: 9 }, () => true), false]);
  expect(found.map(({ room }) => [room.id, keysOf(room)])).toEqual([...rooms, rooms[8]!].map(({ id }) => [id, []]));
  expect(statements).toEqual(['rooms made', 'rooms made']); // the first alone, then all others
  const told = await real.query(sql<{ payload: object }>`
    select payload from outbox where payload ->> 'roomId' like 'made-%' order by payload ->> 'roomId'`);
  const byId = new Map(found.map(({ room }) => [room.id, room]));
  expect(told.map(({ payload }) => payload)).toEqual(
    rooms.map(({ id }) => ({ type: 'room.created', roomId: id, roomPk: byId.get(id)!.pk, at: NOW })),
  );
  expect((await writer.make(db, aRoom('made-1'))).isNew).toBe(false);
});

test('[AX9] changes of one room and of others that come together are answered each with its own, and written once', async () => {
  const { writer, db, statements } = aWriter();
  for (const id of ['one', 'two']) await writer.make(db, aRoom(id));
  statements.splice(0);
  const [one, two] = [asRoomId('one'), asRoomId('two')];
  const outcomes = await Promise.allSettled([
    writer.change(db, one, withKey('a')),
    writer.change(db, one, withKey('b')),
    writer.change(db, two, withKey('c')),
    writer.change(db, one, refuse),
    writer.change(db, asRoomId('missing'), withKey('d')),
    writer.change(db, one, withKey('e')),
  ]);
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? keysOf(outcome.value) : outcome.reason.code))).toEqual([
    ['a'],
    ['a', 'b'],
    ['c'],
    'UNPROCESSABLE_ENTITY',
    [],
    ['a', 'b', 'e'],
  ]);
  const read = ['rooms stamped', 'rooms saved'];
  expect(statements).toEqual([...read, 'rooms stamped', ...read]); // whom it left itself is read again for the one that is refused
  expect(keysOf(await findRoom(real, one))).toEqual(['a', 'b', 'e']);
});

test('[AX10] a change by somebody else between reading and writing is kept, and so is ours', async () => {
  const room = asRoomId('contended');
  let others = 0;
  const { writer, db } = aWriter(async ({ name }) => {
    if (name !== 'rooms saved' || others > 0) return;
    others += 1;
    await changeRoom(real, room, withKey('theirs'));
  });
  await writer.make(db, aRoom('contended'));
  expect(keysOf(await writer.change(db, room, withKey('ours')))).toEqual(['ours', 'theirs']);
  expect(keysOf(await findRoom(real, room))).toEqual(['ours', 'theirs']);
});

test('[AX10] so it is with several workers and visits at once', async () => {
  const room = asRoomId('busy');
  const workers = Array.from({ length: 4 }, () => aWriter());
  await workers[0]!.writer.make(workers[0]!.db, aRoom('busy'));
  const changes = Array.from({ length: 48 }, async (_, n) => {
    const { writer, db } = workers[n % 4]!;
    if (n % 6 === 0) await noteVisits(real, [{ roomId: room, atIso: NOW }]);
    return writer.change(db, room, withKey(`k${n}`));
  });
  for (const [n, changed] of (await Promise.all(changes)).entries()) expect(keysOf(changed)).toContain(`k${n}`);
  expect(keysOf(await findRoom(real, room))).toHaveLength(48);
});

test('[AX11] one that the database refuses is refused alone', async () => {
  const { writer, db } = aWriter();
  const made = await Promise.allSettled(
    ['fine-1', 'fine-2', 'not \u0000 fine', 'fine-3'].map((id) => writer.make(db, aRoom(id))),
  );
  expect(made.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  expect(await real.query(sql`select id from rooms where id like 'fine-%' order by id`)).toHaveLength(3);
});

test('[AX13] a room that it left itself is changed again without being read, for a minute, and whatever others did meanwhile holds', async () => {
  const { writer, db, statements } = aWriter();
  const room = asRoomId('left');
  await writer.make(db, aRoom('left'));
  const change = async (key: string): Promise<string[]> => {
    statements.splice(0);
    return keysOf(await writer.change(db, room, withKey(key)));
  };
  expect([await change('a'), statements.slice()]).toEqual([['a'], ['rooms stamped', 'rooms saved']]);
  expect([await change('b'), statements.slice()]).toEqual([['a', 'b'], ['rooms saved']]);
  await changeRoom(real, room, withKey('theirs'));
  expect(await change('c')).toEqual(['a', 'b', 'c', 'theirs']);
  expect([await change('d'), statements.slice()]).toEqual([
    ['a', 'b', 'c', 'd', 'theirs'],
    ['rooms stamped', 'rooms saved'],
  ]);
  clock.advance(60_000);
  expect([await change('e'), statements.slice(0, 1)]).toEqual([['a', 'b', 'c', 'd', 'e', 'theirs'], ['rooms stamped']]);
  await renameRoom(real, { roomId: room, newRoomId: asRoomId('left for another') });
  expect(await writer.change(db, room, withKey('f'))).toBeNull();
  const fits = (before: RoomRow): RoomFields => (keysOf(before).length > 6 ? refuse() : withKey('g')(before));
  const renamed = asRoomId('left for another');
  expect(keysOf(await writer.change(db, renamed, withKey('full')))).toHaveLength(7);
  await changeRoom(real, renamed, (before) => ({ ...before, metadata: {} }));
  expect(keysOf(await writer.change(db, renamed, fits))).toEqual(['g']); // by what the writer had left, it was full
});

test("[AX12] a room that somebody holds takes nobody else's change with it", async () => {
  const { writer, db } = aWriter();
  for (const id of ['held', 'free']) await writer.make(db, aRoom(id));
  const [held, free] = [asRoomId('held'), asRoomId('free')];
  const outcomes = await real.transaction(async (tx) => {
    await tx.query(sql`select from rooms where id = 'held' for update`);
    const first = writer.change(db, free, withKey('first')); // alone; the next two go together
    return Promise.allSettled([first, writer.change(db, held, withKey('a')), writer.change(db, free, withKey('b'))]);
  });
  expect(outcomes.map((outcome) => (outcome.status === 'fulfilled' ? keysOf(outcome.value) : outcome.reason.code))).toEqual([
    ['first'],
    'DATABASE_UNAVAILABLE',
    ['b', 'first'],
  ]);
  expect(keysOf(await writer.change(db, held, withKey('later')))).toEqual(['later']);
});
