/** A thread from elsewhere into the database, whole, in one transaction. */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import type { RoomId } from '../../../base/ids.ts';
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';
import { type AppEvent, type AppEventConsumer, outboxRowsOf } from '../../../protocol/app-events.ts';
import { lockRoom, type RoomRef } from '../../../room/room-row.ts';
import { noteParticipants } from '../comments/queries.ts';
import { hasMentions, textIn } from '../comments/rules.ts';
import type { ChangeDeps, ThreadRow } from '../threads/queries.ts';
import type { KeptComment, KeptThread } from './rules.ts';

/** Those in the room are told; nobody is notified of what was said long ago, nor is any webhook. */
const TOLD: AppEventConsumer = 'live';

/**
 * One of this id that is here gives way to one that was changed later, and else stays as it is: it may have gone on here.
 * @throws AppError ROOM_NOT_FOUND; RESOURCE_ALREADY_EXISTS when it was deleted here
 */
export async function keepThread(
  { db, outbox, nowMs }: ChangeDeps,
  roomId: RoomId,
  thread: KeptThread,
): Promise<ThreadRow['pk']> {
  return db.transaction(async (tx) => {
    const room = await lockRoom(tx, roomId);
    const { pk, isKept } = await placeFor(tx, room, thread);
    if (!isKept) return pk;
    await insertComments(tx, pk, thread.comments);
    await noteParticipants(tx, pk, thread.participants);
    const { id: threadId, visibility } = thread;
    const about = { roomId, roomPk: room.pk, at: isoFromMs(nowMs()), threadId, visibility, by: createdBy(thread) };
    const event: AppEvent = { type: 'thread.created', ...about };
    await outbox.add(tx, ...outboxRowsOf(event).filter(({ type }) => type === TOLD));
    return pk;
  });
}

/** Its row, without comments if it is to be kept. */
async function placeFor(tx: Sql, room: RoomRef, thread: KeptThread): Promise<{ readonly pk: number; readonly isKept: boolean }> {
  const { createdAtMs, updatedAtMs, metadata, resolved, visibility, comments, contentBytes } = thread;
  const [createdAt, updatedAt] = [isoFromMs(createdAtMs), isoFromMs(updatedAtMs)];
  const [made] = await tx.query(sql<{ pk: number }>`
    insert into threads (room_pk, id, created_by, created_at, updated_at, metadata, resolved, visibility, comment_count, content_bytes)
    values (${room.pk}, ${thread.id}, ${createdBy(thread)}, ${createdAt}, ${updatedAt}, ${JSON.stringify(metadata)}::jsonb, ${resolved},
            ${visibility}, ${comments.length}, ${contentBytes})
    on conflict (room_pk, id) do nothing
    returning pk`);
  const deleted = await tx.query(sql`select from deleted_threads where room_pk = ${room.pk} and id = ${thread.id}`);
  if (deleted.length > 0) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'thread', id: thread.id });
  if (made !== undefined) return { pk: made.pk, isKept: true };
  const [known] = await tx.query(sql<{ pk: number; isOlder: boolean }>`
    select pk, updated_at < ${updatedAt} as "isOlder" from threads where room_pk = ${room.pk} and id = ${thread.id} for no key update`);
  if (!known!.isOlder) return { pk: known!.pk, isKept: false };
  await tx.query(sql`delete from comments where thread_pk = ${known!.pk}`);
  await tx.query(sql`
    update threads
       set created_by = ${createdBy(thread)}, created_at = ${createdAt}, updated_at = ${updatedAt}, changed_at = clock_timestamp(),
           metadata = ${JSON.stringify(metadata)}::jsonb, resolved = ${resolved}, visibility = ${visibility}, comment_count = ${comments.length},
           content_bytes = ${contentBytes}
     where pk = ${known!.pk}`);
  return { pk: known!.pk, isKept: true };
}

function createdBy({ comments }: KeptThread): string {
  return comments[0]!.userId;
}

/** Two statements, however many there are; numbers rise as they were written. */
async function insertComments(tx: Sql, threadPk: number, comments: readonly KeptComment[]): Promise<void> {
  const rows = comments.map(({ id, userId, body, metadata, ...times }, place) => ({
    place,
    id,
    user_id: userId,
    created_at: isoFromMs(times.createdAtMs),
    edited_at: times.editedAtMs === null ? null : isoFromMs(times.editedAtMs),
    deleted_at: times.deletedAtMs === null ? null : isoFromMs(times.deletedAtMs),
    body,
    content: body === null ? '' : textIn(body),
    has_mentions: body !== null && hasMentions(body),
    metadata,
  }));
  await tx.query(sql`
    insert into comments (thread_pk, id, user_id, created_at, edited_at, deleted_at, body, content, has_mentions, metadata)
    select ${threadPk}, id, user_id, created_at, edited_at, deleted_at, body, content, has_mentions, metadata
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as c (place integer, id text, user_id text, created_at timestamptz, edited_at timestamptz,
           deleted_at timestamptz, body jsonb, content text, has_mentions boolean, metadata jsonb)
     order by created_at, place`);
  const reactions = comments.flatMap(({ id, reactions: ofIt }) =>
    ofIt.map(({ emoji, userId, createdAtMs }) => ({ id, emoji, user_id: userId, created_at: isoFromMs(createdAtMs) })),
  );
  if (reactions.length === 0) return;
  await tx.query(sql`
    insert into comment_reactions (comment_pk, emoji, user_id, created_at)
    select c.pk, r.emoji, r.user_id, r.created_at
      from jsonb_to_recordset(${JSON.stringify(reactions)}::jsonb) as r (id text, emoji text, user_id text, created_at timestamptz)
      join comments c on c.thread_pk = ${threadPk} and c.id = r.id
    on conflict (comment_pk, emoji, user_id) do nothing`);
}
