/**
 * Threads and comments as documents, in four queries however many there are.
 *
 * Whoever asks has decided who may see them, and has bounded how much they take (`threads.content_bytes`).
 */
import { soughtId } from '../../../base/text.ts';
import { type Query, type Sql, sql } from '../../../kernel/persistence/sql.ts';
import type { Attachment, CommentDocument, Reaction, ThreadDocument } from '../../../protocol/comments.ts';

type ThreadFields = Omit<ThreadDocument, 'type' | 'comments'> & { readonly pk: number };
interface CommentRow extends Pick<CommentDocument, 'id' | 'threadId' | 'roomId' | 'userId' | 'createdAt' | 'metadata'> {
  readonly pk: number;
  readonly threadPk: number;
  readonly editedAt: string | null;
  readonly deletedAt: string | null;
  readonly body: CommentDocument['body'] | null;
}

/** Threads by number, in the order of the numbers, with all comments, oldest first. Those that are gone are left out. */
export async function findThreadsByPk(db: Sql, pks: readonly number[]): Promise<ThreadDocument[]> {
  if (pks.length === 0) return [];
  const threads = await db.query(sql<ThreadFields>`
    select t.pk, t.id, r.id as "roomId", t.created_at as "createdAt", t.updated_at as "updatedAt", t.metadata, t.resolved, t.visibility
      from unnest(${pks}::bigint[]) with ordinality as asked (pk, place) join threads t using (pk) join rooms r on r.pk = t.room_pk
     order by asked.place`);
  const comments = await findComments(db, sql`c.thread_pk = any(${pks}::bigint[])`);
  const ofThread = grouped(comments, ({ threadPk }) => threadPk);
  return threads.map(({ pk, ...thread }) => ({
    type: 'thread' as const,
    ...thread,
    comments: (ofThread.get(pk) ?? []).map(({ document }) => document),
  }));
}

/** One comment, or null when there is none of this id. */
export async function findComment(
  db: Sql,
  { threadPk, commentId }: { threadPk: number; commentId: string },
): Promise<CommentDocument | null> {
  const [found] = await findComments(db, sql`c.thread_pk = ${threadPk} and c.id = ${soughtId(commentId)}`);
  return found?.document ?? null;
}

async function findComments(db: Sql, which: Query): Promise<{ threadPk: number; document: CommentDocument }[]> {
  const rows = await db.query(sql<CommentRow>`
    select c.pk, c.thread_pk as "threadPk", c.id, t.id as "threadId", r.id as "roomId", c.user_id as "userId", c.created_at as "createdAt",
           c.edited_at as "editedAt", c.deleted_at as "deletedAt", c.body, c.metadata
      from comments c join threads t on t.pk = c.thread_pk join rooms r on r.pk = t.room_pk
     where ${which}
     order by c.created_at, c.pk`);
  const pks = rows.map(({ pk }) => pk);
  const reactions = await findReactions(db, pks);
  const attachments = await findAttachments(db, pks);
  return rows.map(({ pk, threadPk, editedAt, deletedAt, body, ...comment }) => ({
    threadPk,
    document: {
      type: 'comment' as const,
      ...comment,
      ...(editedAt !== null && { editedAt }),
      ...(deletedAt !== null && { deletedAt }),
      ...(body !== null && body !== undefined && { body }),
      reactions: (reactions.get(pk) ?? []).map(({ emoji, createdAt, userId }) => ({ emoji, createdAt, userId })),
      attachments: (attachments.get(pk) ?? []).map(({ id, name, size, mimeType }) => ({
        type: 'attachment' as const,
        ...{ id, name, size, mimeType },
      })),
    },
  }));
}

type OfComment<Of> = Of & { readonly commentPk: number };

async function findReactions(db: Sql, pks: readonly number[]): Promise<Map<number, OfComment<Reaction>[]>> {
  const rows = await db.query(sql<OfComment<Reaction>>`
    select comment_pk as "commentPk", emoji, user_id as "userId", created_at as "createdAt"
      from comment_reactions where comment_pk = any(${pks}::bigint[])
     order by created_at, emoji, user_id`);
  return grouped(rows, ({ commentPk }) => commentPk);
}

async function findAttachments(db: Sql, pks: readonly number[]): Promise<Map<number, OfComment<Attachment>[]>> {
  const rows = await db.query(sql<OfComment<Attachment>>`
    select comment_pk as "commentPk", id, name, size, mime_type as "mimeType"
      from attachments where comment_pk = any(${pks}::bigint[])
     order by comment_pk, place, id`);
  return grouped(rows, ({ commentPk }) => commentPk);
}

function grouped<Row>(rows: readonly Row[], keyOf: (row: Row) => number): Map<number, Row[]> {
  const groups = new Map<number, Row[]>();
  for (const row of rows) {
    const group = groups.get(keyOf(row));
    if (group === undefined) groups.set(keyOf(row), [row]);
    else group.push(row);
  }
  return groups;
}
