import { expect, test } from 'vitest';
import { systemClock } from '../../../../src/base/clock.ts';
import { silentLog } from '../../../../src/base/observe.ts';
import { inboxRoutes } from '../../../../src/features/notifications/inbox/routes.ts';
import { type Sql, sql } from '../../../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../../../src/kernel/persistence/sql-outbox.ts';
import { usePostgres } from '../../../support/postgres.ts';
import { callerOf } from '../../call.ts';
import { makeRoom, makeThread } from '../a-thread.ts';

const db: Sql = await usePostgres().open();
const call = callerOf(
  inboxRoutes({
    db,
    outbox: new SqlOutbox({ db, clock: systemClock, log: silentLog }),
    batchedKinds: new Set(),
    nowMs: () => systemClock.nowMs(),
    newNotificationId: () => 'in_1',
    newActivityId: () => 'act_1',
  }),
);

test('[IB23] a page for a back end holds what an answer may take, and goes on with the next; threads are not in it', async () => {
  await db.query(sql`
    insert into inbox_notifications (id, user_id, kind, subject_id, details, notified_at)
    select 'in_' || n, 'bob', '$ring', 's',
           jsonb_build_object('activities', jsonb_build_array(jsonb_build_object('data', jsonb_build_object('text', repeat('x', 1000000))))), now()
      from generate_series(1, 40) n`);
  const room = await makeRoom(db);
  for (let n = 0; n < 3; n += 1) {
    const thread = await makeThread(db, room);
    await db.query(sql`update threads set content_bytes = 15000000 where pk = ${thread.pk}`);
    await db.query(sql`
      insert into inbox_notifications (id, user_id, kind, room_pk, thread_pk, subject_id, notified_at)
      values (${`in_t${n}`}, 'bob', 'thread', ${room.pk}, ${thread.pk}, ${thread.id}, now() + interval '1 hour')`);
  }
  const pages: string[][] = [];
  for (let cursor = ''; ; ) {
    const { json } = await call(`GET /v2/users/bob/inbox-notifications?limit=50${cursor}`);
    pages.push(json.data.map(({ id }: { id: string }) => id));
    if (json.nextCursor === null) break;
    cursor = `&startingAfter=${json.nextCursor}`;
  }
  expect(pages.map(({ length }) => length)).toEqual([19, 16, 8]);
  expect(new Set(pages.flat()).size).toBe(43);
});
