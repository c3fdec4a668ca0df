import { expect, test } from 'vitest';
import { LOOKED_AT_MAX } from '../../../../src/features/notifications/inbox/queries.ts';
import { listMyInboxRoute, type MyInboxDeps } from '../../../../src/features/notifications/my-inbox/routes.ts';
import { type Sql, sql } from '../../../../src/kernel/persistence/sql.ts';
import { NO_PERMISSIONS, permissionsOf } from '../../../../src/protocol/permissions.ts';
import { usePostgres } from '../../../support/postgres.ts';
import { type MadeRoom, makeRoom, makeThread } from '../a-thread.ts';

const db: Sql = await usePostgres().open();

/** Written one after the other. */
async function news(of: MadeRoom, count: number): Promise<string[]> {
  const thread = await makeThread(db, of);
  const rows = await db.query(sql<{ id: string }>`
    insert into inbox_notifications (id, user_id, kind, room_pk, thread_pk, subject_id, notified_at)
    select ${`in_${of.pk}`} || '_' || ${thread.pk} || '_' || n, 'bob', 'thread', ${of.pk}, case when n = 1 then ${thread.pk}::bigint end, ${thread.id}, clock_timestamp()
      from generate_series(1, ${count}::integer) n returning id`);
  return rows.map(({ id }) => id);
}

test('[IB25] a page looks at a thousand notifications; those that may not be read make it short, and it goes on with the next', async () => {
  const [open, shut] = [await makeRoom(db), await makeRoom(db)];
  const [older] = await news(open, 1);
  await news(shut, LOOKED_AT_MAX);
  const [newer] = await news(open, 1);
  const judged: number[] = [];
  const deps = {
    db,
    nowMs: () => Date.now(),
    personOf: () => ({ userId: 'bob', organizationId: 'default' }),
    permissionsIn: async (_: unknown, { pk }: { readonly pk: number }) => {
      judged.push(pk);
      return pk === open.pk ? permissionsOf(['*:write']) : NO_PERMISSIONS;
    },
    findThreads: async () => [],
    findSubscriptions: async () => [],
  } as unknown as MyInboxDeps;
  const page = async (cursor?: string) => {
    const answer: any = await listMyInboxRoute.handle({ principal: {}, query: { limit: 50, cursor } } as never, deps);
    return { ids: answer.inboxNotifications.map(({ id }: { id: string }) => id), next: answer.meta.nextCursor };
  };
  const first = await page();
  expect([first.ids, first.next]).toEqual([[newer], expect.any(String)]);
  expect(await page(first.next)).toEqual({ ids: [older], next: null });
  expect(judged.sort()).toEqual([open.pk, open.pk, shut.pk, shut.pk].sort());
});
