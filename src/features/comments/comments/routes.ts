/** The endpoints of comments and reactions, for back ends (contract, Older listing; supplement 2.4, rows 43 to 49). */
import { AppError } from '../../../base/errors.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { checkName, checkRoomId, NAME_LENGTHS } from '../../../protocol/names.ts';
import { findRoomRef } from '../../../room/room-row.ts';
import { findComment } from '../documents/queries.ts';
import { type ChangeDeps, changeThread, findThread, type ThreadAsked } from '../threads/queries.ts';
import { BACK_END, checkTime, metadataAfter, noComment, THREAD_LIMITS } from '../threads/rules.ts';
import { CommentParams, CommentReply, Metadata, NewCommentBody, ReactionReply, ThreadParams } from '../threads/shapes.ts';
import { addComment, addReaction, deleteComment, editComment, removeReaction, setCommentMetadata } from './queries.ts';
import { checkBody, checkEmoji, newCommentOf } from './rules.ts';
import { AddReactionBody, CommentMetadataBody, EditCommentBody, RemoveReactionBody } from './shapes.ts';

export interface CommentsDeps extends ChangeDeps {
  newId(prefix: string): string;
}

const route = routeFor<CommentsDeps>();
const one = {
  path: '/v2/rooms/:roomId/threads/:threadId/comments/:commentId',
  needs: 'secret',
  tag: 'Comments',
  params: CommentParams,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
} as const;

export const createCommentRoute = route({
  ...one,
  method: 'POST',
  path: '/v2/rooms/:roomId/threads/:threadId/comments',
  summary: `Add a comment to a thread, which holds up to ${THREAD_LIMITS.commentsMax} of them`,
  once: 'transaction',
  params: ThreadParams,
  body: NewCommentBody,
  reply: CommentReply,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
  async handle({ params, body, afterCommit }, deps) {
    const asked = askedOf(params, afterCommit);
    const comment = newCommentOf({ ...body, id: deps.newId('cm_') }, { nowMs: deps.nowMs() });
    return changeThread(deps, asked, (change) => addComment(change, comment));
  },
});

export const getCommentRoute = route({
  ...one,
  method: 'GET',
  summary: 'Get a comment',
  reply: CommentReply,
  async handle({ params }, { db }) {
    const room = await findRoomRef(db, checkRoomId(params.roomId, 'roomId'));
    const { pk: threadPk } = await findThread(db, { room, threadId: params.threadId });
    const comment = await findComment(db, { threadPk, commentId: params.commentId });
    if (comment === null) throw noComment(params.commentId);
    return comment;
  },
});

export const editCommentRoute = route({
  ...one,
  method: 'POST',
  summary: 'Edit a comment; its attachments are replaced when they are given',
  once: 'transaction',
  body: EditCommentBody,
  reply: CommentReply,
  async handle({ params, body, afterCommit }, deps) {
    const asked = askedOf(params, afterCommit);
    const { metadata = {}, attachmentIds } = body;
    const atMs = checkTime(body.editedAt, 'editedAt', deps.nowMs());
    metadataAfter({}, metadata);
    const edit = {
      commentId: params.commentId,
      viewer: BACK_END,
      body: checkBody(body.body, 'body'),
      metadata,
      attachmentIds,
      atMs,
    };
    return changeThread(deps, asked, (change) => editComment(change, edit));
  },
});

export const deleteCommentRoute = route({
  ...one,
  method: 'DELETE',
  summary: 'Delete a comment for good, and with the last one its thread',
  once: 'transaction',
  reply: empty(204),
  async handle({ params, afterCommit }, deps) {
    const { commentId } = params;
    await changeThread(deps, askedOf(params, afterCommit), (change) =>
      deleteComment(change, { commentId, viewer: BACK_END, atMs: deps.nowMs() }),
    );
  },
});

export const commentMetadataRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/threads/:threadId/comments/:commentId/metadata',
  method: 'POST',
  summary: 'Change the metadata of a comment; null removes a key',
  once: 'transaction',
  body: CommentMetadataBody,
  reply: Metadata,
  async handle({ params, body, afterCommit }, deps) {
    const asked = askedOf(params, afterCommit);
    const by = checkName(body.userId, 'userId', NAME_LENGTHS.userId);
    const atMs = checkTime(body.updatedAt, 'updatedAt', deps.nowMs());
    metadataAfter({}, body.metadata);
    return changeThread(deps, asked, (change) =>
      setCommentMetadata(change, { commentId: params.commentId, changes: body.metadata, by, atMs }),
    );
  },
});

export const addReactionRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/threads/:threadId/comments/:commentId/add-reaction',
  method: 'POST',
  summary: 'React to a comment with an emoji',
  once: 'transaction',
  body: AddReactionBody,
  reply: ReactionReply,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
  async handle({ params, body, afterCommit }, deps) {
    const asked = askedOf(params, afterCommit);
    const reacting = {
      commentId: params.commentId,
      userId: checkName(body.userId, 'userId', NAME_LENGTHS.userId),
      emoji: checkEmoji(body.emoji),
      atMs: checkTime(body.createdAt, 'createdAt', deps.nowMs()),
    };
    const { reaction, isNew } = await changeThread(deps, asked, (change) => addReaction(change, reacting));
    if (!isNew) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'reaction', id: body.emoji });
    return reaction;
  },
});

export const removeReactionRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/threads/:threadId/comments/:commentId/remove-reaction',
  method: 'POST',
  summary: 'Take a reaction back',
  once: 'transaction',
  body: RemoveReactionBody,
  reply: empty(204),
  async handle({ params, body, afterCommit }, deps) {
    const asked = askedOf(params, afterCommit);
    const reacting = {
      commentId: params.commentId,
      userId: checkName(body.userId, 'userId', NAME_LENGTHS.userId),
      emoji: checkEmoji(body.emoji),
      atMs: checkTime(body.removedAt, 'removedAt', deps.nowMs()),
    };
    const wasThere = await changeThread(deps, asked, (change) => removeReaction(change, reacting));
    if (!wasThere) throw new AppError('RESOURCE_NOT_FOUND', { kind: 'comment reaction', id: body.emoji });
  },
});

export function commentRoutes(deps: CommentsDeps): BoundRoute[] {
  return [
    bindRoute(createCommentRoute, deps),
    bindRoute(getCommentRoute, deps),
    bindRoute(editCommentRoute, deps),
    bindRoute(deleteCommentRoute, deps),
    bindRoute(commentMetadataRoute, deps),
    bindRoute(addReactionRoute, deps),
    bindRoute(removeReactionRoute, deps),
  ];
}

function askedOf(
  { roomId, threadId }: { readonly roomId: string; readonly threadId: string },
  afterCommit: ThreadAsked['afterCommit'],
): ThreadAsked {
  return { roomId: checkRoomId(roomId, 'roomId'), threadId, viewer: BACK_END, afterCommit };
}
