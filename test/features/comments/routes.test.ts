/** Routes of threads on a real Postgres, for what costs too much to bring about from outside. */
import { expect, test } from 'vitest';
import { systemRandom } from '../../../src/base/clock.ts';
import { newId } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { threadRoutes } from '../../../src/features/comments/threads/routes.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlOutbox } from '../../../src/kernel/persistence/sql-outbox.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { usePostgres } from '../../support/postgres.ts';
import { callerOf, refused } from '../call.ts';
import { NOW_MS, threadsIn } from './a-thread.ts';

const db: Sql = await usePostgres().open();
const call = callerOf(
  threadRoutes({
    db,
    outbox: new SqlOutbox({ db, clock: manualClock(), log: silentLog }),
    byDefault: 'replies_and_mentions',
    nowMs: () => NOW_MS,
    newId: (prefix) => newId(systemRandom, prefix),
  }),
);
const list = (roomId: string, query = '') => call(`GET /v2/rooms/${roomId}/threads?query=${encodeURIComponent(query)}`);
const TOO_MANY =
  "422 UNPROCESSABLE_ENTITY Value at key 'query' finds more than 10000 threads, or 33554432 bytes of comments; ask for fewer.";

test('[CM19] a list that no answer should hold is refused, by its threads or its bytes, and a narrower one is not', async () => {
  const { roomId, roomPk, create } = await threadsIn(db);
  await create('th', { threadMetadata: { wanted: true } });
  const setBytes = (bytes: number) => db.query(sql`update threads set content_bytes = ${bytes} where room_pk = ${roomPk}`);
  await setBytes(33_554_432 - 16); // its metadata take 16 more
  expect((await list(roomId)).json.data).toHaveLength(1);
  await setBytes(33_554_432);
  expect(refused(await list(roomId))).toBe(TOO_MANY);
  await setBytes(0);
  await db.query(sql`
    insert into threads (room_pk, id, created_by, created_at, updated_at, visibility)
    select ${roomPk}, 'many-' || n, 'mia', now(), now(), 'public' from generate_series(1, 9999) n`);
  expect((await list(roomId)).json.data).toHaveLength(10_000);
  await create('one-more');
  expect(refused(await list(roomId))).toBe(TOO_MANY);
  expect((await list(roomId, 'metadata["wanted"]:true')).json.data).toHaveLength(1);
});
