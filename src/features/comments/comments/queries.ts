/** Comments and reactions in the database, each change under the lock of its thread (`changeThread`). */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import type { RoomId } from '../../../base/ids.ts';
import { soughtId } from '../../../base/text.ts';
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { CommentBody, CommentDocument, CommentMetadata, Reaction, Visibility } from '../../../protocol/comments.ts';
import { mentionsIn } from '../../../protocol/comments.ts';
import { lockRoom } from '../../../room/room-row.ts';
import { attach } from '../attachments/queries.ts';
import { findComment } from '../documents/queries.ts';
import {
  type Change,
  type ChangeDeps,
  deleteThread,
  THREAD_COLUMNS,
  type ThreadRow,
  teller,
  touchThread,
} from '../threads/queries.ts';
import { checkIsOwn, metadataAfter, noComment, type Viewer } from '../threads/rules.ts';
import { BODY_LIMITS, bytesOf, checkRoomInThread, hasMentions, REACTION_BYTES, textIn } from './rules.ts';

/** A comment to be made; everything in it has been checked. */
export interface NewComment {
  readonly id: string;
  readonly userId: string;
  readonly body: CommentBody;
  readonly metadata: CommentMetadata;
  readonly attachmentIds: readonly string[];
  readonly atMs: number;
}

export interface NewThread {
  readonly roomId: RoomId;
  readonly id: string;
  readonly visibility: Visibility;
  readonly metadata: CommentMetadata;
  readonly comment: NewComment;
}

/**
 * Makes a thread with its first comment. One of this id that the same user made is the answer to a request that came again, and stays.
 * @throws AppError ROOM_NOT_FOUND; RESOURCE_ALREADY_EXISTS when the id is somebody else's, or was a thread's that is deleted.
 */
export async function createThread(
  { db, outbox, nowMs }: ChangeDeps,
  { roomId, id, visibility, metadata, comment }: NewThread,
): Promise<ThreadRow['pk']> {
  return db.transaction(async (tx) => {
    const room = await lockRoom(tx, roomId);
    const at = isoFromMs(comment.atMs);
    const before = isoFromMs(comment.atMs - 1); // its first comment makes it `at`
    const [made] = await tx.query(sql<{ pk: number }>`
      insert into threads (room_pk, id, created_by, created_at, updated_at, metadata, visibility)
      select pk, ${id}, ${comment.userId}, ${at}, ${before}, ${JSON.stringify(metadata)}::jsonb, ${visibility}
        from rooms
       where pk = ${room.pk} and not exists (select 1 from deleted_threads d where d.room_pk = rooms.pk and d.id = ${id})
      on conflict (room_pk, id) do nothing
      returning pk`);
    if (made === undefined) return findMade(tx, { roomPk: room.pk, id, visibility, userId: comment.userId });
    await mustBeNew(tx, { roomPk: room.pk, id }); // the insert may have waited for a deletion that was under way when it began
    const [thread] = await tx.query(sql<ThreadRow>`
      select ${THREAD_COLUMNS} from threads t where t.pk = ${made.pk}`);
    const tell = teller({ tx, outbox, room, thread: thread!, nowMs });
    await tell({ type: 'thread.created', by: comment.userId });
    await insertComment({ tx, room, thread: thread!, tell }, comment);
    return made.pk;
  });
}

/** Of another visibility than is asked for it is none: who may make public threads need not be one who may read private ones. */
async function findMade(
  tx: Sql,
  { roomPk, id, userId, visibility }: ThreadPlace & { readonly userId: string; readonly visibility: Visibility },
): Promise<number> {
  const [known] = await tx.query(sql<{ pk: number }>`
    select pk from threads
     where room_pk = ${roomPk} and id = ${id} and created_by = ${userId} and visibility = ${visibility}`);
  if (known === undefined) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'thread', id });
  return known.pk;
}

interface ThreadPlace {
  readonly roomPk: number;
  readonly id: string;
}

async function mustBeNew(tx: Sql, { roomPk, id }: ThreadPlace): Promise<void> {
  const deleted = await tx.query(sql`select 1 from deleted_threads where room_pk = ${roomPk} and id = ${id}`);
  if (deleted.length > 0) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'thread', id });
}

/**
 * Adds a comment. One of this id by the same user is the answer to a request that came again, and stays.
 * @throws AppError RESOURCE_ALREADY_EXISTS when the id is somebody else's; UNPROCESSABLE_ENTITY when the thread is full.
 */
export async function addComment(change: Change, comment: NewComment): Promise<CommentDocument> {
  const { tx, thread } = change;
  const known = await findComment(tx, { threadPk: thread.pk, commentId: comment.id });
  if (known?.userId === comment.userId) return known;
  if (known !== null) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'comment', id: comment.id });
  await insertComment(change, comment);
  return readComment(change, comment.id);
}

async function insertComment(change: Change, comment: NewComment): Promise<void> {
  const { tx, room, thread, tell } = change;
  const { userId, body, metadata, atMs } = comment;
  const [row] = await tx.query(sql<{ pk: number }>`
    insert into comments (thread_pk, id, user_id, created_at, body, content, has_mentions, metadata)
    values (${thread.pk}, ${comment.id}, ${userId}, ${isoFromMs(atMs)}, ${JSON.stringify(body)}::jsonb, ${textIn(body)}, ${hasMentions(body)},
            ${JSON.stringify(metadata)}::jsonb)
    returning pk`);
  const ids = comment.attachmentIds;
  const attached = ids.length === 0 ? 0 : await attach(tx, { roomPk: room.pk, commentPk: row!.pk, userId, ids });
  const bytes = bytesOf(comment) + attached;
  await noteParticipants(tx, thread.pk, [userId, ...mentionsIn(body).userIds]);
  await resize(change, { atMs, comments: 1, bytes });
  await tell({ type: 'comment.created', commentId: comment.id, by: userId });
}

/** The comments of the thread have changed, and take so much more, or less. @throws AppError UNPROCESSABLE_ENTITY when that is too much */
async function resize(change: Change, { atMs, ...more }: { atMs: number; comments?: number; bytes: number }): Promise<void> {
  checkRoomInThread(change.thread, more);
  await touchThread(change, { atMs, ...more });
}

/** A row of `comments` under the lock of its thread. */
interface LiveComment {
  readonly pk: number;
  readonly userId: string;
  readonly body: CommentBody;
  readonly metadata: CommentMetadata;
}

/** @throws AppError RESOURCE_NOT_FOUND, for a deleted one too (supplement 7, row 108). */
export async function liveComment({ tx, thread }: Pick<Change, 'tx' | 'thread'>, commentId: string): Promise<LiveComment> {
  const [comment] = await tx.query(sql<LiveComment>`
    select pk, user_id as "userId", body, metadata from comments
     where thread_pk = ${thread.pk} and id = ${soughtId(commentId)} and deleted_at is null`);
  if (comment === undefined) throw noComment(commentId);
  return comment;
}

type MetadataChanges = Readonly<Record<string, CommentMetadata[string] | null>>;

export interface Edit {
  readonly commentId: string;
  readonly viewer: Viewer;
  readonly body: CommentBody;
  readonly metadata: MetadataChanges;
  /** In place of those it has; undefined leaves them. */
  readonly attachmentIds: readonly string[] | undefined;
  readonly atMs: number;
}

/** @throws AppError RESOURCE_NOT_FOUND, UNAUTHORIZED_ROOM_ACCESS for another user's, UNPROCESSABLE_ENTITY. */
export async function editComment(change: Change, edit: Edit): Promise<CommentDocument> {
  const { tx, room, tell } = change;
  const { commentId, body, attachmentIds, atMs } = edit;
  const before = await liveComment(change, commentId);
  checkIsOwn(edit.viewer, before.userId);
  const metadata = metadataAfter(before.metadata, edit.metadata);
  await tx.query(sql`
    update comments
       set body = ${JSON.stringify(body)}::jsonb, content = ${textIn(body)}, has_mentions = ${hasMentions(body)},
           metadata = ${JSON.stringify(metadata)}::jsonb, edited_at = ${isoFromMs(atMs)}
     where pk = ${before.pk}`);
  const showing = { roomPk: room.pk, commentPk: before.pk, userId: before.userId };
  const attached = attachmentIds === undefined ? 0 : await attach(tx, { ...showing, ids: attachmentIds });
  const bytes = bytesOf({ body, metadata }) - bytesOf(before) + attached;
  await noteParticipants(tx, change.thread.pk, mentionsIn(body).userIds);
  await resize(change, { atMs, bytes });
  const { userIds: mentionedBefore, groups } = mentionsIn(before.body);
  await tell({ type: 'comment.edited', commentId, mentionedBefore, groupsMentionedBefore: groups.map(({ id }) => id) });
  return readComment(change, commentId);
}

/** Deletes its content and keeps its place; with the last one the thread goes. @throws as `editComment`. */
export async function deleteComment(change: Change, asked: { commentId: string; viewer: Viewer; atMs: number }): Promise<void> {
  const { tx, room, thread, tell } = change;
  const { commentId, viewer, atMs } = asked;
  const comment = await liveComment(change, commentId);
  checkIsOwn(viewer, comment.userId);
  await tx.query(sql`
    update comments set deleted_at = ${isoFromMs(atMs)}, body = null, content = '', has_mentions = false, metadata = '{}' where pk = ${comment.pk}`);
  const reactions = await tx.change(sql`delete from comment_reactions where comment_pk = ${comment.pk}`);
  const attached = await attach(tx, { roomPk: room.pk, commentPk: comment.pk, userId: comment.userId, ids: [] });
  await tell({ type: 'comment.deleted', commentId });
  const others = await tx.query(sql`select 1 from comments where thread_pk = ${thread.pk} and deleted_at is null limit 1`);
  if (others.length === 0) return deleteThread(change);
  const bytes = bytesOf({ body: null, metadata: {} }) - bytesOf(comment) - reactions * REACTION_BYTES + attached;
  await resize(change, { atMs, bytes });
}

/** Returns all metadata as they are then. @throws AppError RESOURCE_NOT_FOUND; UNPROCESSABLE_ENTITY when there would be too many entries. */
export async function setCommentMetadata(
  change: Change,
  { commentId, changes, by, atMs }: { commentId: string; changes: MetadataChanges; by: string; atMs: number },
): Promise<CommentMetadata> {
  const before = await liveComment(change, commentId);
  const metadata = metadataAfter(before.metadata, changes);
  await change.tx.query(sql`update comments set metadata = ${JSON.stringify(metadata)}::jsonb where pk = ${before.pk}`);
  await resize(change, { atMs, bytes: bytesOf({ ...before, metadata }) - bytesOf(before) });
  await change.tell({ type: 'comment.metadata-updated', commentId, by });
  return metadata;
}

interface Reacting {
  readonly commentId: string;
  readonly emoji: string;
  readonly userId: string;
  readonly atMs: number;
}

/** Returns the reaction, and whether it was there before. @throws AppError RESOURCE_NOT_FOUND; UNPROCESSABLE_ENTITY when there are too many. */
export async function addReaction(change: Change, reacting: Reacting): Promise<{ reaction: Reaction; isNew: boolean }> {
  const { tx, tell } = change;
  const { commentId, emoji, userId, atMs } = reacting;
  const { pk } = await liveComment(change, commentId);
  const find = () =>
    tx.query(sql<Reaction>`
      select emoji, created_at as "createdAt", user_id as "userId" from comment_reactions
       where comment_pk = ${pk} and emoji = ${emoji} and user_id = ${userId}`);
  const [known] = await find();
  if (known !== undefined) return { reaction: known, isNew: false };
  const made = await tx.change(sql`
    insert into comment_reactions (comment_pk, emoji, user_id, created_at)
    select ${pk}, ${emoji}, ${userId}, ${isoFromMs(atMs)}
     where (select count(*) from comment_reactions where comment_pk = ${pk}) < ${BODY_LIMITS.reactionsMax}`);
  if (made === 0)
    throw new AppError('UNPROCESSABLE_ENTITY', { reason: `The comment has its ${BODY_LIMITS.reactionsMax} reactions already` });
  await resize(change, { atMs, bytes: REACTION_BYTES });
  await tell({ type: 'comment.reaction-added', commentId, by: userId, emoji });
  const [reaction] = await find();
  return { reaction: reaction!, isNew: true };
}

/** False when there was none. @throws AppError RESOURCE_NOT_FOUND for the comment. */
export async function removeReaction(change: Change, { commentId, emoji, userId, atMs }: Reacting): Promise<boolean> {
  const { pk } = await liveComment(change, commentId);
  const gone = await change.tx.change(sql`
    delete from comment_reactions where comment_pk = ${pk} and emoji = ${emoji} and user_id = ${userId}`);
  if (gone === 0) return false;
  await resize(change, { atMs, bytes: -REACTION_BYTES });
  await change.tell({ type: 'comment.reaction-removed', commentId, by: userId, emoji });
  return true;
}

async function readComment({ tx, thread }: Change, commentId: string): Promise<CommentDocument> {
  const comment = await findComment(tx, { threadPk: thread.pk, commentId });
  return comment!; // it is under the lock of its thread
}

/** Who writes, or is named, takes part from now on; what they said of the thread stands. */
export async function noteParticipants(tx: Sql, threadPk: number, userIds: readonly string[]): Promise<void> {
  const unique = [...new Set(userIds)].sort();
  if (unique.length === 0) return;
  await tx.query(sql`
    insert into thread_subscriptions (thread_pk, user_id, takes_part)
    select ${threadPk}, user_id, true from unnest(${unique}::text[]) as user_id
    on conflict (thread_pk, user_id) do update set takes_part = true, changed_at = clock_timestamp() where not thread_subscriptions.takes_part`);
}
