/** Changes of accesses in a real database, and who tells of them when the worker that made them ends. */
import { beforeEach, expect, test, vi } from 'vitest';
import { AccessChanges } from '../../src/app/access-changes.ts';
import { RoomWriter } from '../../src/app/room-writer.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { findOrCreateRoom, type RoomRow, upsertRoom } from '../../src/features/rooms/queries.ts';
import type { RoomFields } from '../../src/features/rooms/shapes.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../src/kernel/persistence/sql-outbox.ts';
import { manualClock } from '../support/manual-clock.ts';
import { usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
const ROOM = asRoomId('room');
const NEW_ROOM = {
  nowIso: '2031-02-03T04:05:06.007Z',
  organizationId: 'default',
  metadata: {},
  usersAccesses: {},
  groupsAccesses: {},
};
let db: Sql;

beforeEach(async () => {
  db = await postgres.open();
  await findOrCreateRoom(db, { id: ROOM, ...NEW_ROOM, defaultAccesses: ['*:write'] });
});

const shut = (room: RoomRow): RoomFields => ({ ...room, defaultAccesses: [] });
const renamed = (room: RoomRow): RoomFields => ({ ...room, metadata: { name: 'other' } });
/** Seconds until each event comes due. */
const waiting = async (): Promise<number[]> => {
  const rows = await db.query(sql<{ dueS: number }>`
    select round(extract(epoch from due_at - clock_timestamp()))::int as "dueS" from outbox where type = 'accesses.changed'`);
  return rows.map(({ dueS }) => dueS);
};

/** A worker, and what it tells; all have heard of it when `heard` is called. */
function aWorker() {
  const told: string[] = [];
  const heard: (() => void)[] = [];
  const outbox = new SqlOutbox({ db, clock: manualClock(), log: silentLog });
  const accessesChanged = async (roomId: string, whenTold: () => void = () => undefined): Promise<void> => {
    told.push(roomId);
    heard.push(whenTold);
  };
  const accesses = new AccessChanges({ outbox, changes: { accessesChanged }, log: silentLog });
  const relay = async (): Promise<void> => {
    outbox.nudge();
    await outbox.idle();
  };
  return { accesses, told, relay, hear: () => heard.shift()!(), writer: new RoomWriter({ db, clock: systemClock }) };
}
const fiveSecondsLater = () => db.query(sql`update outbox set due_at = due_at - interval '5 seconds'`);

const WAYS: readonly (readonly [string, (change: (room: RoomRow) => RoomFields) => Promise<number | null>])[] = [
  ['among others', async (change) => (await aWorker().writer.change(db, ROOM, change))!.accessEvent],
  ['under a key', (change) => db.transaction(async (tx) => (await aWorker().writer.change(tx, ROOM, change))!.accessEvent)],
  [
    'by an upsert',
    async (change) => (await upsertRoom(db, { id: ROOM, nowIso: NEW_ROOM.nowIso, fieldsIfNew: () => null, change })).accessEvent,
  ],
];

test.each(WAYS)('[AX16] a change whose worker ends before it tells of it is told by another: %s', async (_, change) => {
  expect(await change(shut)).toBeGreaterThan(0);
  const survivor = aWorker();
  await survivor.relay();
  expect(survivor.told).toEqual([]); // whoever made it tells of it
  await fiveSecondsLater();
  await survivor.relay();
  expect(survivor.told).toEqual([ROOM]);
});

test.each(WAYS)('[AX16] of a change of anything else there is nothing to tell: %s', async (_, change) => {
  expect([await change(renamed), await waiting()]).toEqual([null, []]);
  await change(shut);
  expect([await change(shut), (await waiting()).length]).toEqual([null, 1]);
});

test('[AX16] each change in a batch has the event of its own room', async () => {
  const { writer } = aWorker();
  const second = asRoomId('second');
  await findOrCreateRoom(db, { id: second, ...NEW_ROOM, defaultAccesses: [] });
  const changes = [renamed, shut].flatMap((change) => [ROOM, second].map((roomId) => writer.change(db, roomId, change)));
  const events = (await Promise.all(changes)).map((room) => room!.accessEvent);
  expect(events).toEqual([null, null, expect.any(Number), null]);
});

test('[AX17] the event is removed when all have been told, and not before', async () => {
  const { accesses, writer, hear } = aWorker();
  const { accessEvent } = (await writer.change(db, ROOM, shut))!;
  await accesses.tell(ROOM, accessEvent);
  expect(await waiting()).toEqual([5]);
  hear();
  await vi.waitFor(async () => expect(await waiting()).toEqual([]));
});

test('[AX17] one who tells of it for another, and ends, too, is followed by the next', async () => {
  await aWorker().writer.change(db, ROOM, shut);
  for (let turn = 0; turn < 2; turn += 1) {
    await fiveSecondsLater();
    const { relay, told } = aWorker();
    await relay();
    expect([told, await waiting()]).toEqual([[ROOM], [5]]);
  }
  await fiveSecondsLater();
  const last = aWorker();
  await last.relay();
  last.hear();
  await vi.waitFor(async () => expect(await waiting()).toEqual([]));
});

test('[AX17] an event that could not be removed is told again', async () => {
  const { accesses, writer, hear } = aWorker();
  const { accessEvent } = (await writer.change(db, ROOM, shut))!;
  const remove = vi.spyOn(SqlOutbox.prototype, 'remove').mockRejectedValueOnce(new Error('away'));
  await accesses.tell(ROOM, accessEvent);
  hear();
  expect(remove).toHaveBeenCalledOnce();
  remove.mockRestore();
  await fiveSecondsLater();
  const next = aWorker();
  await next.relay();
  expect(next.told).toEqual([ROOM]);
});
