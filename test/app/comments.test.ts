/** Events of comments on their way from the outbox to the room, in a real database, with a door that notes what comes through it. */
import { beforeEach, expect, test, vi } from 'vitest';
import { commentParts } from '../../src/app/comments.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { findOrCreateRoom, findRoomForEntry, renameRoom } from '../../src/features/rooms/queries.ts';
import { type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../src/kernel/persistence/sql-outbox.ts';
import { type AppEvent, outboxRowsOf } from '../../src/protocol/app-events.ts';
import type { RoomDoor } from '../../src/room/shapes.ts';
import { aDoor, type RecordingDoor } from '../features/call.ts';
import { manualClock } from '../support/manual-clock.ts';
import { usePostgres } from '../support/postgres.ts';

const postgres = usePostgres();
let db: Sql;
let outbox: SqlOutbox;
let door: RecordingDoor;
let roomPk: number;

beforeEach(async () => {
  db = await postgres.open();
  outbox = new SqlOutbox({ db, clock: manualClock(), log: silentLog });
  door = aDoor(['room', 'renamed']);
  const blank = { metadata: {}, defaultAccesses: [], usersAccesses: {}, groupsAccesses: {}, organizationId: 'default' };
  roomPk = (await findOrCreateRoom(db, { id: asRoomId('room'), nowIso: new Date().toISOString(), ...blank })).room.pk;
});

const eventAt = (atMs: number): AppEvent => ({
  type: 'comment.created',
  by: 'mia',
  ...{ roomId: 'room', roomPk, at: new Date(atMs).toISOString(), threadId: 'th_x', visibility: 'private', commentId: 'cm_x' },
});
const told = {
  type: 'comments.tell',
  visibility: 'private',
  message: { type: 'comment.created', threadId: 'th_x', commentId: 'cm_x' },
};
async function relay(event: AppEvent, rooms: RoomDoor = door): Promise<number> {
  commentParts({ db, outbox, rooms, byDefault: 'none', findRoom: (roomId) => findRoomForEntry(db, roomId) });
  await outbox.add(db, ...outboxRowsOf(event));
  outbox.nudge();
  await outbox.idle();
  return (await db.query(sql`select 1 from outbox where type = 'live'`)).length;
}

test('[CM63] an event reaches its room, under the id that the room has by then', async () => {
  await renameRoom(db, { roomId: asRoomId('room'), newRoomId: asRoomId('renamed') });
  expect(await relay(eventAt(Date.now()))).toBe(0);
  expect(door.told).toEqual([['renamed', told]]);
});

test('[CM64] one that is too old, or whose room is gone, is dropped', async () => {
  expect(await relay(eventAt(Date.now() - 301_000))).toBe(0);
  expect(door.told).toEqual([]);
  await db.query(sql`delete from rooms`);
  await outbox.add(db, ...outboxRowsOf(eventAt(Date.now())));
  outbox.nudge();
  await outbox.idle();
  expect([door.told, await db.query(sql`select 1 from outbox where type = 'live'`)]).toEqual([[], []]);
});

test('[CM65] a room that takes long holds up nobody, and what follows for it waits, in order', async () => {
  let answer = (): void => undefined;
  const slow: RoomDoor = {
    ...door,
    async tellIfAwake(roomId, command) {
      if (door.told.length === 0) await new Promise<void>((resolve) => (answer = resolve));
      return door.tellIfAwake(roomId, command);
    },
  };
  const toldIds = () => door.told.map(([, command]) => (command.type === 'comments.tell' ? command.message : null));
  expect(await relay(eventAt(Date.now()), slow)).toBe(0);
  for (const commentId of ['cm_y', 'cm_z'])
    await outbox.add(db, ...outboxRowsOf({ ...eventAt(Date.now()), commentId } as AppEvent));
  outbox.nudge();
  await outbox.idle();
  expect([await db.query(sql`select 1 from outbox where type = 'live'`), toldIds()]).toEqual([[], []]);
  answer();
  await vi.waitFor(() => expect(toldIds()).toMatchObject([{ commentId: 'cm_x' }, { commentId: 'cm_y' }, { commentId: 'cm_z' }]));
});
