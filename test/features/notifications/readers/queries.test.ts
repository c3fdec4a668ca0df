import { beforeEach, expect, test } from 'vitest';
import { asRoomId } from '../../../../src/base/ids.ts';
import { ReaderNotes } from '../../../../src/features/notifications/readers/queries.ts';
import { type Sql, sql } from '../../../../src/kernel/persistence/sql.ts';
import { permissionsOf } from '../../../../src/protocol/permissions.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { usePostgres } from '../../../support/postgres.ts';
import { meddled } from '../../../support/streams.ts';
import { type MadeRoom, makeRoom } from '../a-thread.ts';

const db: Sql = await usePostgres().open();
let room: MadeRoom;
let writes: number;
beforeEach(async () => {
  room = await makeRoom(db);
  writes = 0;
});

const counting = meddled(db, (_, run) => {
  writes += 1;
  return run();
});
const [ALL, PUBLIC] = [permissionsOf(['*:read']), permissionsOf(['*:write', 'comments:private:none'])];
const known = () =>
  db.query(
    sql`select user_id as "userId", reads_public as publicly, reads_private as privately from room_readers where room_pk = ${room.pk}`,
  );

test('[NT28] what a token lets its user read is written when it is other than a minute ago, or that is past', async () => {
  const clock = manualClock();
  const notes = new ReaderNotes({ db: counting, clock });
  const note = (permissions: typeof ALL) => notes.note('bob', { roomId: asRoomId(room.id), permissions });
  await note(ALL);
  await note(ALL);
  expect([writes, await known()]).toEqual([1, [{ userId: 'bob', publicly: true, privately: true }]]);
  await note(PUBLIC);
  expect([writes, await known()]).toEqual([2, [{ userId: 'bob', publicly: true, privately: false }]]);
  clock.advance(59_999);
  await note(PUBLIC);
  expect(writes).toBe(2);
  clock.advance(1);
  await note(PUBLIC);
  expect(writes).toBe(3);
});

test('[NT28] of a room that is not there nothing is noted', async () => {
  const notes = new ReaderNotes({ db, clock: manualClock() });
  const later = asRoomId(`later ${room.id}`);
  await notes.note('bob', { roomId: later, permissions: ALL });
  expect(await known()).toEqual([]);
  await db.query(sql`update rooms set id = ${later} where pk = ${room.pk}`);
  await notes.note('bob', { roomId: later, permissions: ALL });
  expect(await known()).toHaveLength(1);
});
