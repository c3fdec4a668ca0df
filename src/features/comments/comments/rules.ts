/** What the body of a comment may be, what it says in plain text, and whom it names. Pure. */
import { AppError, valueAtKey } from '../../../base/errors.ts';
import { isStorableText } from '../../../base/text.ts';
import { type CommentBody, type CommentMetadata, mentionsIn } from '../../../protocol/comments.ts';
import { checkName, NAME_LENGTHS } from '../../../protocol/names.ts';
import { checkMetadata, checkTime, THREAD_LIMITS } from '../threads/rules.ts';
import type { NewComment } from './queries.ts';

/** Bounds of ours. */
export const BODY_LIMITS = {
  /** Of a body, as JSON. */
  lengthMax: 65_536,
  emojiLengthMax: 64,
  /** Of one comment. */
  reactionsMax: 1_000,
} as const;

/** What a reaction takes in an answer, roughly. */
export const REACTION_BYTES = 150;

/** @throws AppError UNPROCESSABLE_ENTITY naming `key`. */
export function checkBody(body: CommentBody, key: string): CommentBody {
  const { length } = JSON.stringify(body);
  if (length > BODY_LIMITS.lengthMax) throw valueAtKey(key, `may have at most ${BODY_LIMITS.lengthMax} characters as JSON`);
  checkTexts(body, key);
  const { userIds, groups } = mentionsIn(body);
  for (const id of [...userIds, ...groups.flatMap((group) => group.userIds)]) checkName(id, key, NAME_LENGTHS.userId);
  for (const { id } of groups) checkName(id, key, NAME_LENGTHS.groupId);
  return body;
}

/** Nodes may carry keys of their own, so all of it is looked at. */
function checkTexts(value: unknown, key: string): void {
  if (typeof value === 'string' && !isStorableText(value))
    throw valueAtKey(key, 'may not hold U+0000 or half of a surrogate pair');
  if (typeof value !== 'object' || value === null) return;
  for (const [name, part] of Object.entries(value)) {
    checkTexts(name, key);
    checkTexts(part, key);
  }
}

/** @throws AppError UNPROCESSABLE_ENTITY naming `emoji`. */
export function checkEmoji(emoji: string): string {
  return checkName(emoji, 'emoji', BODY_LIMITS.emojiLengthMax);
}

/** What is said, a line for each paragraph, mentions as `@id`. */
export function textIn(body: CommentBody): string {
  return body.content
    .map(({ children }) =>
      children
        .map((child) => {
          if (!('type' in child)) return child.text;
          if (child.type === 'mention') return `@${child.id}`;
          return child.type === 'link' ? (child.text ?? child.url) : '';
        })
        .join(''),
    )
    .join('\n');
}

export function hasMentions(body: CommentBody): boolean {
  const { userIds, groups } = mentionsIn(body);
  return userIds.length > 0 || groups.length > 0;
}

/** What a comment takes in an answer, roughly: its body and metadata, and what surrounds them. Attachments and reactions are counted for themselves. */
export function bytesOf({ body, metadata }: { body: CommentBody | null; metadata: CommentMetadata }): number {
  return Buffer.byteLength(JSON.stringify([body, metadata])) + 250;
}

/**
 * Whether so many comments and bytes more, or less, may be in a thread. What makes it smaller always may.
 * @throws AppError UNPROCESSABLE_ENTITY when it would have too many comments, or too long ones
 */
export function checkRoomInThread(
  thread: { readonly commentCount: number; readonly contentBytes: number },
  { comments = 0, bytes }: { readonly comments?: number; readonly bytes: number },
): void {
  const { commentsMax, contentBytesMax } = THREAD_LIMITS;
  if (comments > 0 && thread.commentCount + comments > commentsMax)
    throw new AppError('UNPROCESSABLE_ENTITY', { reason: `The thread has its ${commentsMax} comments already` });
  if (bytes > 0 && thread.contentBytes + bytes > contentBytesMax)
    throw new AppError('UNPROCESSABLE_ENTITY', {
      reason: `The comments of the thread may take at most ${contentBytesMax} bytes, with their metadata and reactions`,
    });
}

/** A comment as somebody wants to make it. */
interface Wanted {
  readonly id: string;
  readonly userId: string;
  readonly body: CommentBody;
  readonly metadata?: CommentMetadata;
  readonly attachmentIds?: readonly string[];
  readonly createdAt?: string;
}

/** A comment to be made. @throws AppError UNPROCESSABLE_ENTITY naming the key, `within` before it. */
export function newCommentOf(wanted: Wanted, { nowMs, within = '' }: { nowMs: number; within?: string }): NewComment {
  const { id, userId, body, metadata, attachmentIds = [], createdAt } = wanted;
  return {
    id,
    userId: checkName(userId, `${within}userId`, NAME_LENGTHS.userId),
    body: checkBody(body, `${within}body`),
    metadata: checkMetadata(metadata, `${within}metadata`),
    attachmentIds,
    atMs: checkTime(createdAt, `${within}createdAt`, nowMs),
  };
}
