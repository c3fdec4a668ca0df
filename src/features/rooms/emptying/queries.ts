/**
 * What may be too much for one statement is deleted ahead of its room. Postgres looks for what hangs on each row that goes with another, some 30 µs
 * of a row, and a statement is ended after 10 s: a room of 80,000 threads was refused, one of 9,000 where Postgres had to read it first.
 */
import type { RoomId } from '../../../base/ids.ts';
import { type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';

/** So much goes in a quarter of a second, and in a few where Postgres has to read it first: comments and notifications, and five for each thread. */
const WEIGHT_TOGETHER_MAX = 10_000;
const WEIGHT_OF_THREAD = 5;

/** A large row is kept in pieces of 2 KB, and each goes as a row does: so many bytes take as long as one that is small. */
const BYTES_OF_ONE = 5_000;

/** Rows of a room, of which there may be many beside its threads, in the order in which they are locked. */
interface Rows {
  readonly table: Query;
  readonly order: Query;
  readonly weight: Query;
}

const ONE = sql`1`;
const ROWS: readonly Rows[] = [
  { table: sql`inbox_notifications`, order: sql`subject_id collate "C", pk`, weight: ONE },
  { table: sql`attachments`, order: sql`id`, weight: ONE },
  { table: sql`files`, order: sql`id`, weight: ONE },
  { table: sql`feed_messages`, order: sql`pk`, weight: sql`1 + octet_length(data::text) / ${BYTES_OF_ONE}` },
  { table: sql`feeds`, order: sql`pk`, weight: ONE },
  { table: sql`versions`, order: sql`created_at, pk`, weight: sql`1 + coalesce(octet_length(bytes), 0) / ${BYTES_OF_ONE}` },
  { table: sql`room_subscription_settings`, order: sql`user_id`, weight: ONE },
  { table: sql`room_readers`, order: sql`user_id`, weight: ONE },
];

/**
 * Deletes what a room has until the rest can go with it, some at a time and each time for good: locks are kept no longer than for one part, so that whoever
 * has been told of these threads does not wait for all of them. (Within a transaction they are kept to its end.) Nothing happens to a room that has little.
 */
export async function emptyAhead(db: Sql, roomId: RoomId): Promise<void> {
  for (let pks = await findOldestThreads(db, roomId); pks.length > 0; pks = await findOldestThreads(db, roomId))
    await db.transaction((tx) => deleteThreads(tx, { roomId, pks }));
  for (const rows of ROWS) {
    while (await hasMany(db, roomId, rows)) await db.transaction((tx) => deleteSome(tx, roomId, rows));
  }
}

async function hasMany(db: Sql, roomId: RoomId, rows: Rows): Promise<boolean> {
  const found = await db.query(sql`select from (${partOf(roomId, rows)}) part limit 1`);
  return found.length > 0;
}

async function deleteSome(tx: Sql, roomId: RoomId, rows: Rows): Promise<void> {
  const { table, order } = rows;
  await tx.query(lockOf(roomId));
  await tx.query(sql`
    delete from ${table} where ctid = any(array(
      select ctid from ${table} where ctid = any(array(${partOf(roomId, rows)})) order by ${order} for update))`);
}

/** Where the first of them are; none when what there is can go at once. */
function partOf(roomId: RoomId, { table, order, weight }: Rows): Query {
  return sql`
    select place from (
      select place, sum(weight) over (order by n) - weight as ahead, sum(weight) over () as together from (
        select ctid as place, ${weight} as weight, row_number() over (order by ${order}) as n
          from ${table} where room_pk = (select pk from rooms where id = ${roomId})
         order by ${order} limit ${WEIGHT_TOGETHER_MAX + 1}) counted) weighed
     where together > ${WEIGHT_TOGETHER_MAX} and ahead < ${WEIGHT_TOGETHER_MAX}`;
}

const lockOf = (roomId: RoomId): Query => sql`select from rooms where id = ${roomId} for no key update`;

/** None when what there is can go at once. */
async function findOldestThreads(db: Sql, roomId: RoomId): Promise<number[]> {
  const rows = await db.query(sql<{ pk: number }>`
    with oldest as (
      select t.pk, t.created_at,
             ${WEIGHT_OF_THREAD} + t.comment_count + (select count(*) from inbox_notifications n where n.thread_pk = t.pk) as weight
        from threads t
       where t.room_pk = (select pk from rooms where id = ${roomId})
       order by t.created_at, t.pk
       limit ${WEIGHT_TOGETHER_MAX / WEIGHT_OF_THREAD + 1}
    ), weighed as (
      select pk, sum(weight) over (order by created_at, pk) - weight as ahead, sum(weight) over () as together from oldest
    )
    select pk from weighed where together > ${WEIGHT_TOGETHER_MAX} and ahead < ${WEIGHT_TOGETHER_MAX}`);
  return rows.map(({ pk }) => pk);
}

/** Locks are taken in the order of everybody: the room, threads by their ids, what is in inboxes by room and thread. */
async function deleteThreads(tx: Sql, { roomId, pks }: { roomId: RoomId; pks: readonly number[] }): Promise<void> {
  await tx.query(lockOf(roomId));
  await tx.query(sql`select from threads where pk = any(${pks}::bigint[]) order by id for update`);
  await tx.query(sql`
    select from inbox_notifications n where n.thread_pk = any(${pks}::bigint[])
     order by n.room_pk, n.subject_id collate "C", n.pk for update`);
  await tx.query(sql`delete from threads where pk = any(${pks}::bigint[])`);
}
