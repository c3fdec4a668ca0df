/**
 * Threads in the database. A change locks its thread first, so that changes of one thread come one after the other; what it tells others goes
 * into the outbox in the same transaction.
 */
import { isoFromMs } from '../../../base/clock.ts';
import { asRoomId, type RoomId } from '../../../base/ids.ts';
import { soughtId } from '../../../base/text.ts';
import type { Outbox } from '../../../kernel/persistence/outbox.ts';
import { joinSql, type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import { type AppEvent, outboxRowsOf } from '../../../protocol/app-events.ts';
import type { CommentMetadata, ThreadDocument, Visibility } from '../../../protocol/comments.ts';
import type { Position } from '../../../protocol/paging.ts';
import { lockRoom, type RoomRef } from '../../../room/room-row.ts';
import { findThreadsByPk } from '../documents/queries.ts';
import { conditionOf, joinsOf, type SubscriptionDefault } from '../filters/queries.ts';
import type { FilterClause } from '../filters/rules.ts';
import { checkMayWrite, metadataAfter, noThread, type Viewer } from './rules.ts';

/** A row of `threads` as changes and lists need it. */
export interface ThreadRow {
  readonly pk: number;
  readonly id: string;
  readonly visibility: Visibility;
  readonly createdBy: string;
  readonly createdAt: string;
  readonly metadata: CommentMetadata;
  readonly resolved: boolean;
  readonly commentCount: number;
  readonly contentBytes: number;
}

export const THREAD_COLUMNS = sql`t.pk, t.id, t.visibility, t.created_by as "createdBy", t.created_at as "createdAt", t.metadata, t.resolved,
  t.comment_count as "commentCount", t.content_bytes as "contentBytes"`;

/** @throws AppError RESOURCE_NOT_FOUND */
export async function findThread(
  db: Sql,
  { room, threadId }: { room: { readonly pk: number }; threadId: string },
): Promise<ThreadRow> {
  const [thread] = await db.query(sql<ThreadRow>`
    select ${THREAD_COLUMNS} from threads t where t.room_pk = ${room.pk} and t.id = ${soughtId(threadId)}`);
  if (thread === undefined) throw noThread(threadId);
  return thread;
}

/** One thread with all its comments. @throws AppError RESOURCE_NOT_FOUND when it is gone. */
export async function readThread(db: Sql, { pk, id }: Pick<ThreadRow, 'pk' | 'id'>): Promise<ThreadDocument> {
  const [thread] = await findThreadsByPk(db, [pk]);
  if (thread === undefined) throw noThread(id);
  return thread;
}

/** Rooms by what of their threads may be read. */
export type RoomPks = Readonly<Record<Visibility, readonly number[]>>;

/** `threads t` that may be read. Written so that a list of one room follows its index. */
export function visibleIn(roomPks: RoomPks): Query {
  const { public: publicIn, private: privateIn } = roomPks;
  if (publicIn.join() === privateIn.join()) return isIn(publicIn);
  if (privateIn.length === 0) return sql`t.visibility = 'public' and ${isIn(publicIn)}`;
  if (publicIn.length === 0) return sql`t.visibility = 'private' and ${isIn(privateIn)}`;
  return sql`((t.visibility = 'public' and ${isIn(publicIn)}) or (t.visibility = 'private' and ${isIn(privateIn)}))`;
}

function isIn(roomPks: readonly number[]): Query {
  return roomPks.length === 1 ? sql`t.room_pk = ${roomPks[0]}` : sql`t.room_pk = any(${roomPks}::bigint[])`;
}

/** `threads t` that a user takes part in, or has asked to hear of. */
export function isOf(userId: string | null): Query {
  return sql`t.pk in (
    select thread_pk from thread_subscriptions where user_id = ${userId} and (takes_part or is_subscribed)
     union all
    select own.pk from room_subscription_settings rs join threads own on own.room_pk = rs.room_pk
     where rs.user_id = ${userId} and rs.threads = 'all')`;
}

/** Threads of some rooms that a viewer may see there and a filter lets through. */
export interface ThreadsAsked {
  readonly roomPks: RoomPks;
  /** Whose subscriptions a filter asks for. */
  readonly userId: string | null;
  readonly clauses: readonly FilterClause[];
  readonly byDefault: SubscriptionDefault;
  readonly after: Position | null;
  readonly limit: number;
  /** In addition: only those that the user takes part in, or is subscribed to. */
  readonly which: 'all' | 'of the user';
}

export interface ListedThread {
  readonly pk: number;
  readonly createdAt: string;
  readonly answerBytes: number;
}

/** What a thread takes in an answer, roughly. */
export const ANSWER_BYTES = sql`(t.content_bytes + octet_length(t.metadata::text))`;

/** Up to `limit` threads, newest first, from just after `after`. */
export async function listThreads(db: Sql, asked: ThreadsAsked): Promise<ListedThread[]> {
  const { roomPks, userId, clauses, byDefault, after, limit, which } = asked;
  const conditions = clauses.map((clause) => conditionOf(clause, byDefault));
  if (after !== null) conditions.push(sql`(t.created_at, t.pk) < (${isoFromMs(after.atMs)}::timestamptz, ${after.pk}::bigint)`);
  if (which === 'of the user') conditions.push(isOf(userId));
  return db.query(sql<ListedThread>`
    select t.pk, t.created_at as "createdAt", ${ANSWER_BYTES} as "answerBytes" from threads t ${joinsOf(userId)}
     where ${visibleIn(roomPks)}
       and ${joinSql([sql`true`, ...conditions], ' and ')}
     order by t.created_at desc, t.pk desc
     limit ${limit}`);
}

/** What a change of a thread needs besides the database. */
export interface ChangeDeps {
  readonly db: Sql;
  readonly outbox: Outbox;
  nowMs(): number;
}

/** A thread under its lock. */
export interface Change {
  readonly tx: Sql;
  readonly room: RoomRef;
  readonly thread: ThreadRow;
  /** Writes what happened beside the change. */
  tell(event: EventOfThread): Promise<void>;
}
type InThread = 'roomId' | 'roomPk' | 'at' | 'threadId' | 'visibility';
type DistributiveOmit<Of, Keys extends string> = Of extends unknown ? Omit<Of, Keys> : never;
type EventOfThread = DistributiveOmit<Extract<AppEvent, { threadId: string }>, InThread>;

export interface ThreadAsked {
  readonly roomId: RoomId;
  readonly threadId: string;
  readonly viewer: Viewer;
  /** As routes have it. */
  afterCommit(task: () => void): void;
}

/**
 * Runs `work` in a transaction that holds the thread. What it tells is relayed after its commit.
 * @throws AppError ROOM_NOT_FOUND, RESOURCE_NOT_FOUND, UNAUTHORIZED_ROOM_ACCESS when the viewer may not write there.
 */
export async function changeThread<Result>(
  { db, outbox, nowMs }: ChangeDeps,
  { roomId, threadId, viewer, afterCommit }: ThreadAsked,
  work: (change: Change) => Promise<Result>,
): Promise<Result> {
  const result = await db.transaction(async (tx) => {
    const room = await lockRoom(tx, roomId); // before the thread, as a deletion of the room goes
    const [thread] = await tx.query(sql<ThreadRow>`
      select ${THREAD_COLUMNS} from threads t where t.room_pk = ${room.pk} and t.id = ${soughtId(threadId)} for no key update`);
    if (thread === undefined) throw noThread(threadId);
    checkMayWrite(viewer, thread);
    return work({ tx, room, thread, tell: teller({ tx, outbox, room, thread, nowMs }) });
  });
  afterCommit(() => outbox.nudge());
  return result;
}

/** Writes events of a thread into the outbox. Their time is now, also when a comment is given another one. */
export function teller(on: {
  tx: Sql;
  outbox: Outbox;
  room: RoomRef;
  thread: Pick<ThreadRow, 'id' | 'visibility'>;
  nowMs(): number;
}): Change['tell'] {
  const { tx, outbox, room, thread } = on;
  return (event) => {
    const about = {
      roomId: asRoomId(room.id),
      roomPk: room.pk,
      at: isoFromMs(on.nowMs()),
      threadId: thread.id,
      visibility: thread.visibility,
    };
    return outbox.add(tx, ...outboxRowsOf({ ...event, ...about } as AppEvent));
  };
}

/** Notes that the thread has changed: its time rises, whatever time is given. */
export async function touchThread(
  { tx, thread }: Pick<Change, 'tx' | 'thread'>,
  { atMs, comments = 0, bytes = 0 }: { atMs: number; comments?: number; bytes?: number },
): Promise<void> {
  await tx.query(sql`
    update threads
       set updated_at = greatest(updated_at + interval '1 millisecond', ${isoFromMs(atMs)}::timestamptz), changed_at = clock_timestamp(),
           comment_count = comment_count + ${comments}, content_bytes = greatest(0, content_bytes + ${bytes})
     where pk = ${thread.pk}`);
}

/** Sets whether it is resolved; what is so already stays as it was. */
export async function setResolved(
  change: Change,
  { resolved, by, atMs }: { resolved: boolean; by: string; atMs: number },
): Promise<void> {
  if (change.thread.resolved === resolved) return;
  await change.tx.query(sql`update threads set resolved = ${resolved} where pk = ${change.thread.pk}`);
  await touchThread(change, { atMs });
  await change.tell({ type: resolved ? 'thread.resolved' : 'thread.unresolved', by });
}

type MetadataChanges = Readonly<Record<string, CommentMetadata[string] | null>>;

/** Returns all metadata as they are then. @throws AppError UNPROCESSABLE_ENTITY when there would be too many entries. */
export async function setThreadMetadata(
  change: Change,
  { changes, by, atMs }: { changes: MetadataChanges; by: string; atMs: number },
): Promise<CommentMetadata> {
  const metadata = metadataAfter(change.thread.metadata, changes);
  await change.tx.query(sql`update threads set metadata = ${JSON.stringify(metadata)}::jsonb where pk = ${change.thread.pk}`);
  await touchThread(change, { atMs });
  await change.tell({ type: 'thread.metadata-updated', by });
  return metadata;
}

/** Deletes it with all that hangs on it, for good: its id is not used again. */
export async function deleteThread(change: Change): Promise<void> {
  const { tx, room, thread } = change;
  await tx.query(sql`
    insert into deleted_threads (room_pk, id, visibility, user_ids)
    select ${room.pk}, ${thread.id}, ${thread.visibility},
           coalesce((select array_agg(user_id) from thread_subscriptions where thread_pk = ${thread.pk}), '{}')
    on conflict (room_pk, id) do nothing`);
  await tx.query(sql`delete from threads where pk = ${thread.pk}`);
  await change.tell({ type: 'thread.deleted' });
}
