/** What of a thread from elsewhere can be kept, and what it comes to. Pure. */
import { valueAtKey } from '../../../base/errors.ts';
import {
  type CommentBody,
  type CommentMetadata,
  mentionsIn,
  THREAD_ID_PATTERN,
  type Visibility,
} from '../../../protocol/comments.ts';
import { checkName, NAME_LENGTHS } from '../../../protocol/names.ts';
import { BODY_LIMITS, bytesOf, checkBody, checkRoomInThread, REACTION_BYTES } from '../comments/rules.ts';
import { checkMetadata, checkTime } from '../threads/rules.ts';
import type { BroughtComment, BroughtThread } from './shapes.ts';

/** A comment with all that hangs on it; it has been checked. */
export interface KeptComment {
  readonly id: string;
  readonly userId: string;
  readonly createdAtMs: number;
  readonly editedAtMs: number | null;
  readonly deletedAtMs: number | null;
  /** Null once it is deleted. */
  readonly body: CommentBody | null;
  readonly metadata: CommentMetadata;
  readonly reactions: readonly { readonly emoji: string; readonly userId: string; readonly createdAtMs: number }[];
}

export interface KeptThread {
  readonly id: string;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly metadata: CommentMetadata;
  readonly resolved: boolean;
  readonly visibility: Visibility;
  readonly comments: readonly KeptComment[];
  readonly contentBytes: number;
  /** Who wrote, or is mentioned by id: they take part. */
  readonly participants: readonly string[];
}

/** @throws AppError UNPROCESSABLE_ENTITY naming the key */
export function keptThread(id: string, thread: BroughtThread): KeptThread {
  if (!new RegExp(THREAD_ID_PATTERN).test(id))
    throw valueAtKey('threadId', `must be an id such as th_…, with 21 characters behind it`);
  const comments = thread.comments.map((comment, place) => keptComment(comment, `comments.${place}.`));
  checkEachOnce(comments);
  const createdAtMs = timeAt(thread.createdAt, 'createdAt');
  const contentBytes = comments.reduce((sum, comment) => sum + bytesOf(comment) + comment.reactions.length * REACTION_BYTES, 0);
  checkRoomInThread({ commentCount: 0, contentBytes: 0 }, { comments: comments.length, bytes: contentBytes });
  return {
    id,
    createdAtMs,
    updatedAtMs: Math.max(createdAtMs, thread.updatedAt === undefined ? createdAtMs : timeAt(thread.updatedAt, 'updatedAt')),
    metadata: checkMetadata(thread.metadata),
    resolved: thread.resolved ?? false,
    visibility: thread.visibility ?? 'public',
    comments,
    contentBytes,
    participants: [
      ...new Set(comments.flatMap(({ userId, body }) => (body === null ? [] : [userId, ...mentionsIn(body).userIds]))),
    ],
  };
}

function keptComment(comment: BroughtComment, within: string): KeptComment {
  const { id, userId, createdAt, editedAt, deletedAt, body, metadata, reactions = [] } = comment;
  if ((body === undefined) !== (deletedAt !== undefined))
    throw valueAtKey(`${within}body`, 'must be there unless the comment is deleted');
  if (reactions.length > BODY_LIMITS.reactionsMax)
    throw valueAtKey(`${within}reactions`, `may be at most ${BODY_LIMITS.reactionsMax}`);
  return {
    id,
    userId: checkName(userId, `${within}userId`, NAME_LENGTHS.userId),
    createdAtMs: timeAt(createdAt, `${within}createdAt`),
    editedAtMs: editedAt === undefined ? null : timeAt(editedAt, `${within}editedAt`),
    deletedAtMs: deletedAt === undefined ? null : timeAt(deletedAt, `${within}deletedAt`),
    body: body === undefined ? null : checkBody(body, `${within}body`),
    metadata: body === undefined ? {} : checkMetadata(metadata, `${within}metadata`),
    reactions:
      body === undefined ? [] : reactions.map((reaction, place) => keptReaction(reaction, `${within}reactions.${place}.`)),
  };
}

function keptReaction({ emoji, userId, createdAt }: NonNullable<BroughtComment['reactions']>[number], within: string) {
  return {
    emoji: checkName(emoji, `${within}emoji`, BODY_LIMITS.emojiLengthMax),
    userId: checkName(userId, `${within}userId`, NAME_LENGTHS.userId),
    createdAtMs: timeAt(createdAt, `${within}createdAt`),
  };
}

function checkEachOnce(comments: readonly KeptComment[]): void {
  const known = new Set<string>();
  for (const [place, { id }] of comments.entries()) {
    if (known.has(id)) throw valueAtKey(`comments.${place}.id`, 'is the id of another comment');
    known.add(id);
  }
}

function timeAt(time: string, key: string): number {
  return checkTime(time, key, 0);
}
