/** What clients read of threads: what has changed, what is gone, what a text is found in, and which rooms a user's threads are in. */
import { isoFromMs } from '../../../base/clock.ts';
import type { RoomId } from '../../../base/ids.ts';
import { joinSql, type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { RoomAccesses } from '../../../protocol/permissions.ts';
import type { Person } from '../../../protocol/person.ts';
import { conditionOf, type SubscriptionDefault } from '../filters/queries.ts';
import type { FilterClause } from '../filters/rules.ts';
import { ANSWER_BYTES, isOf, type RoomPks, visibleIn } from '../threads/queries.ts';
import { ANSWER_LIMITS } from './rules.ts';

export interface ChangesAsked {
  readonly roomPks: RoomPks;
  readonly userId: string | null;
  readonly which: 'all' | 'of the user';
  readonly sinceMs: number;
}

export interface ChangedThread {
  readonly pk: number;
  readonly roomId: RoomId;
  readonly answerBytes: number;
  readonly changedAt: string;
}

/**
 * Threads that changed since, the earliest change first, and one more than an answer has. Among those of a user are the threads that became theirs since, by
 * what they said or did elsewhere: another browser does not know them.
 */
export async function listChanged(db: Sql, asked: ChangesAsked): Promise<ChangedThread[]> {
  const { roomPks, sinceMs } = asked;
  const since = sql`${isoFromMs(sinceMs)}::timestamptz`;
  const changed = sql`select pk, changed_at from threads t where ${visibleIn(roomPks)} and t.changed_at >= ${since}`;
  return db.query(sql<ChangedThread>`
    select t.pk, r.id as "roomId", ${ANSWER_BYTES} as "answerBytes", c.changed_at as "changedAt"
      from (${asked.which === 'all' ? changed : changedOf(asked, { changed, since })}) c join threads t on t.pk = c.pk join rooms r on r.pk = t.room_pk
     where ${visibleIn(roomPks)}
     order by c.changed_at, t.pk
     limit ${ANSWER_LIMITS.changedMax + 1}`);
}

function changedOf({ userId }: ChangesAsked, { changed, since }: { changed: Query; since: Query }): Query {
  return sql`
    select t.pk, max(t.changed_at) as changed_at
      from (${changed} union all
            select thread_pk, changed_at from thread_subscriptions where user_id = ${userId} and changed_at >= ${since}) t
     where ${isOf(userId)} group by t.pk`;
}

export interface DeletedThread {
  readonly type: 'deletedThread';
  readonly id: string;
  readonly roomId: RoomId;
  readonly deletedAt: string;
}

/** More than this is not told at once; a client that asks for one of them hears then that it is gone. */
const DELETED_MAX = 5_000;

/** Whether a deleted thread was among those of a user: by a subscription of its own, or because the user hears of all in its room. */
function wasOf(userId: string | null): Query {
  return sql`(${userId} = any(t.user_ids)
              or t.room_pk in (select room_pk from room_subscription_settings where user_id = ${userId} and threads = 'all'))`;
}

/** Threads that were deleted since, the latest first. */
export async function listDeleted(db: Sql, { roomPks, userId, which, sinceMs }: ChangesAsked): Promise<DeletedThread[]> {
  return db.query(sql<DeletedThread>`
    select 'deletedThread' as type, t.id, r.id as "roomId", t.deleted_at::timestamptz(3) as "deletedAt"
      from deleted_threads t join rooms r on r.pk = t.room_pk
     where ${visibleIn(roomPks)} and t.deleted_at >= ${isoFromMs(sinceMs)}::timestamptz
       and ${which === 'all' ? sql`true` : wasOf(userId)}
     order by t.deleted_at desc
     limit ${DELETED_MAX}`);
}

export interface FoundComment {
  readonly threadId: string;
  readonly commentId: string;
  readonly content: string;
}

interface SearchAsked {
  readonly roomPks: RoomPks;
  readonly words: readonly string[];
  readonly clauses: readonly FilterClause[];
  readonly byDefault: SubscriptionDefault;
}

/** Comments that have all of the words, whatever their case; the newest first. */
export async function searchComments(db: Sql, { roomPks, words, clauses, byDefault }: SearchAsked): Promise<FoundComment[]> {
  const patterns = words.map((word) => `%${word.replaceAll(/[\\%_]/g, '\\$&')}%`);
  const conditions = [sql`true`, ...clauses.map((clause) => conditionOf(clause, byDefault))];
  return db.query(sql<FoundComment>`
    select t.id as "threadId", c.id as "commentId", c.content
      from threads t
     cross join lateral (                  -- thread by thread: the words alone would be looked for in the comments of all rooms
       select * from comments
        where thread_pk = t.pk and deleted_at is null and content ilike all (${patterns}::text[])
       offset 0) c
     where ${visibleIn(roomPks)} and ${joinSql(conditions, ' and ')}
     order by c.created_at desc, c.pk desc
     limit ${ANSWER_LIMITS.foundMax}`);
}

/** A room as its accesses are judged. */
export interface RoomOfThreads {
  readonly pk: number;
  readonly id: RoomId;
  readonly organizationId: string;
  readonly accesses: RoomAccesses;
}

/** So many rooms of a user are looked at, the newest of them. */
const ROOMS_MAX = 1_000;

/** The rooms that have threads of a person, or had some that were deleted since, or where the person said something since of all threads. */
export async function findRoomsOfThreads(
  db: Sql,
  { userId, organizationId }: Person,
  { deletedSinceMs }: { deletedSinceMs: number | null },
): Promise<RoomOfThreads[]> {
  const deleted =
    deletedSinceMs === null
      ? sql``
      : sql`union select room_pk from deleted_threads
             where deleted_at >= ${isoFromMs(deletedSinceMs)}::timestamptz and ${userId} = any(user_ids)
             union select room_pk from room_subscription_settings
             where user_id = ${userId} and changed_at >= ${isoFromMs(deletedSinceMs)}::timestamptz`;
  return db.query(sql<RoomOfThreads>`
    select pk, id, organization_id as "organizationId",
           jsonb_build_object('defaultAccesses', default_accesses, 'usersAccesses', users_accesses, 'groupsAccesses', groups_accesses) as accesses
      from rooms
     where organization_id = ${organizationId}
       and pk = any(array(                -- found first, and then looked up: with "in" Postgres may go through all rooms, the newest first
             select t.room_pk from thread_subscriptions s join threads t on t.pk = s.thread_pk where s.user_id = ${userId}
              union select room_pk from room_subscription_settings where user_id = ${userId} and threads = 'all' ${deleted}))
     order by pk desc
     limit ${ROOMS_MAX}`);
}
