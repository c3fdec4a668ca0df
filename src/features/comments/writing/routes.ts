/** What the SDK in a browser changes of threads and comments, under ids of its own making (protocol 7.2). */
import type { RoomId } from '../../../base/ids.ts';
import type { Principal } from '../../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { commentForClients, threadForClients } from '../../../protocol/comments.ts';
import { checkRoomId } from '../../../protocol/names.ts';
import { findRoomRef } from '../../../room/room-row.ts';
import {
  addComment,
  addReaction,
  createThread,
  deleteComment,
  editComment,
  removeReaction,
  setCommentMetadata,
} from '../comments/queries.ts';
import { checkBody, checkEmoji, newCommentOf } from '../comments/rules.ts';
import { EditCommentForClients, ReactionForClients } from '../comments/shapes.ts';
import { subscribe, unsubscribe } from '../subscriptions/queries.ts';
import { SubscriptionReply } from '../subscriptions/shapes.ts';
import {
  type Change,
  type ChangeDeps,
  changeThread,
  deleteThread,
  findThread,
  readThread,
  setResolved,
  setThreadMetadata,
  type ThreadRow,
} from '../threads/queries.ts';
import { checkIsOwn, checkMayCreate, checkMayRead, checkMetadata, metadataAfter, userOf, type Viewer } from '../threads/rules.ts';
import {
  CommentForClientsReply,
  CommentParams,
  Metadata,
  MetadataChanges,
  NewCommentForClients,
  NewThreadForClients,
  ReactionReply,
  RoomParams,
  ThreadForClientsReply,
  ThreadParams,
} from '../threads/shapes.ts';
import { Done, ReactionParams } from './shapes.ts';

export interface WritingDeps extends ChangeDeps {
  /** @throws AppError ROOM_NOT_FOUND, UNAUTHORIZED_ROOM_ACCESS as at entry. */
  viewerOf(principal: Principal, roomId: RoomId): Promise<Viewer>;
}

const route = routeFor<WritingDeps>();
const thread = {
  path: '/v2/c/rooms/:roomId/threads/:threadId',
  needs: 'comments:write',
  tag: 'Comments',
  once: 'transaction',
  params: ThreadParams,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND', 'UNAUTHORIZED_ROOM_ACCESS'],
} as const;
const comment = { ...thread, path: '/v2/c/rooms/:roomId/threads/:threadId/comments/:commentId', params: CommentParams } as const;
const MAY_BE_TAKEN = [...thread.refuses, 'RESOURCE_ALREADY_EXISTS'] as const;

export const createThreadRoute = route({
  ...thread,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads',
  summary: 'For the SDK: create a thread; the same again is answered with the thread that is there',
  params: RoomParams,
  body: NewThreadForClients,
  reply: ThreadForClientsReply,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS', 'RESOURCE_NOT_FOUND', 'UNAUTHORIZED_ROOM_ACCESS'],
  async handle({ params, body, principal, afterCommit }, deps) {
    const { roomId, viewer, userId } = await writerOf(principal, params.roomId, deps);
    const { id, visibility = 'public' } = body;
    const first = newCommentOf({ ...body.comment, userId }, { nowMs: deps.nowMs(), within: 'comment.' });
    const metadata = checkMetadata(body.metadata);
    checkMayCreate(viewer, visibility);
    const pk = await createThread(deps, { roomId, id, visibility, metadata, comment: first });
    afterCommit(() => deps.outbox.nudge());
    return threadForClients(await readThread(deps.db, { pk, id }));
  },
});

export const deleteThreadRoute = route({
  ...thread,
  method: 'DELETE',
  summary: 'For the SDK: delete a thread of the user for good',
  reply: empty(204),
  async handle(input, deps) {
    await changeFor(input, deps, async (change, viewer) => {
      checkIsOwn(viewer, change.thread.createdBy);
      await deleteThread(change);
    });
  },
});

export const threadMetadataRoute = route({
  ...thread,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/metadata',
  summary: 'For the SDK: change the metadata of a thread; null removes a key',
  body: MetadataChanges,
  reply: Metadata,
  async handle(input, deps) {
    const changes = input.body;
    metadataAfter({}, changes, '');
    return changeFor(input, deps, (change, { userId: by }) => setThreadMetadata(change, { changes, by, atMs: deps.nowMs() }));
  },
});

export const resolveRoute = route({
  ...thread,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/mark-as-resolved',
  summary: 'For the SDK: mark a thread as resolved',
  reply: Done,
  async handle(input, deps) {
    await changeFor(input, deps, (change, { userId: by }) => setResolved(change, { resolved: true, by, atMs: deps.nowMs() }));
    return {};
  },
});

export const unresolveRoute = route({
  ...thread,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/mark-as-unresolved',
  summary: 'For the SDK: mark a thread as not resolved',
  reply: Done,
  async handle(input, deps) {
    await changeFor(input, deps, (change, { userId: by }) => setResolved(change, { resolved: false, by, atMs: deps.nowMs() }));
    return {};
  },
});

export const subscribeRoute = route({
  ...thread,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/subscribe',
  needs: 'comments:read',
  summary: 'For the SDK: subscribe the user to a thread',
  reply: SubscriptionReply,
  async handle({ params, principal }, deps) {
    return subscribe(deps.db, { ...(await subjectOf(principal, params, deps)), nowMs: deps.nowMs() });
  },
});

export const unsubscribeRoute = route({
  ...thread,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/unsubscribe',
  needs: 'comments:read',
  summary: 'For the SDK: unsubscribe the user from a thread',
  reply: Done,
  async handle({ params, principal }, deps) {
    await unsubscribe(deps.db, { ...(await subjectOf(principal, params, deps)), nowMs: deps.nowMs() });
    return {};
  },
});

export const createCommentRoute = route({
  ...thread,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/comments',
  summary: 'For the SDK: add a comment; the same again is answered with the comment that is there',
  body: NewCommentForClients,
  reply: CommentForClientsReply,
  refuses: MAY_BE_TAKEN,
  async handle(input, deps) {
    checkBody(input.body.body, 'body');
    checkMetadata(input.body.metadata);
    return changeFor(input, deps, async (change, { userId }) => {
      const made = await addComment(change, newCommentOf({ ...input.body, userId }, { nowMs: deps.nowMs() }));
      return commentForClients(made);
    });
  },
});

export const editCommentRoute = route({
  ...comment,
  method: 'POST',
  summary: 'For the SDK: edit a comment of the user',
  body: EditCommentForClients,
  reply: CommentForClientsReply,
  async handle(input, deps) {
    const { body, metadata = {}, attachmentIds } = input.body;
    checkBody(body, 'body');
    metadataAfter({}, metadata);
    const { commentId } = input.params;
    return changeFor(input, deps, async (change, viewer) => {
      const edit = { commentId, viewer, body, metadata, attachmentIds, atMs: deps.nowMs() };
      return commentForClients(await editComment(change, edit));
    });
  },
});

export const deleteCommentRoute = route({
  ...comment,
  method: 'DELETE',
  summary: 'For the SDK: delete a comment of the user for good, and with the last one its thread',
  reply: empty(204),
  async handle(input, deps) {
    const { commentId } = input.params;
    await changeFor(input, deps, (change, viewer) => deleteComment(change, { commentId, viewer, atMs: deps.nowMs() }));
  },
});

export const commentMetadataRoute = route({
  ...comment,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/comments/:commentId/metadata',
  summary: 'For the SDK: change the metadata of a comment; null removes a key',
  body: MetadataChanges,
  reply: Metadata,
  async handle(input, deps) {
    const changes = input.body;
    const { commentId } = input.params;
    metadataAfter({}, changes, '');
    return changeFor(input, deps, (change, { userId: by }) =>
      setCommentMetadata(change, { commentId, changes, by, atMs: deps.nowMs() }),
    );
  },
});

export const addReactionRoute = route({
  ...comment,
  method: 'POST',
  path: '/v2/c/rooms/:roomId/threads/:threadId/comments/:commentId/reactions',
  summary: 'For the SDK: react to a comment; the same again changes nothing',
  body: ReactionForClients,
  reply: ReactionReply,
  async handle(input, deps) {
    const emoji = checkEmoji(input.body.emoji);
    const { commentId } = input.params;
    return changeFor(input, deps, async (change, { userId }) => {
      const { reaction } = await addReaction(change, { commentId, emoji, userId, atMs: deps.nowMs() });
      return reaction;
    });
  },
});

export const removeReactionRoute = route({
  ...comment,
  method: 'DELETE',
  path: '/v2/c/rooms/:roomId/threads/:threadId/comments/:commentId/reactions/:emoji',
  summary: 'For the SDK: take a reaction back, if it is there',
  params: ReactionParams,
  reply: empty(204),
  async handle(input, deps) {
    const emoji = checkEmoji(input.params.emoji);
    const { commentId } = input.params;
    await changeFor(input, deps, (change, { userId }) =>
      removeReaction(change, { commentId, emoji, userId, atMs: deps.nowMs() }),
    );
  },
});

export function writingRoutes(deps: WritingDeps): BoundRoute[] {
  return [
    bindRoute(createThreadRoute, deps),
    bindRoute(deleteThreadRoute, deps),
    bindRoute(threadMetadataRoute, deps),
    bindRoute(resolveRoute, deps),
    bindRoute(unresolveRoute, deps),
    bindRoute(subscribeRoute, deps),
    bindRoute(unsubscribeRoute, deps),
    bindRoute(createCommentRoute, deps),
    bindRoute(editCommentRoute, deps),
    bindRoute(deleteCommentRoute, deps),
    bindRoute(commentMetadataRoute, deps),
    bindRoute(addReactionRoute, deps),
    bindRoute(removeReactionRoute, deps),
  ];
}

interface Writer {
  readonly roomId: RoomId;
  readonly viewer: Viewer;
  readonly userId: string;
}

async function writerOf(principal: Principal, roomId: string, { viewerOf }: WritingDeps): Promise<Writer> {
  const checked = checkRoomId(roomId, 'roomId');
  const viewer = await viewerOf(principal, checked);
  return { roomId: checked, viewer, userId: userOf(viewer) };
}

interface Input {
  readonly params: { readonly roomId: string; readonly threadId: string };
  readonly principal: Principal;
  afterCommit(task: () => void): void;
}

/** Changes a thread as the user who asks; who is in the room hears of it. */
async function changeFor<Result>(
  { params, principal, afterCommit }: Input,
  deps: WritingDeps,
  work: (change: Change, by: Viewer & { userId: string }) => Promise<Result>,
): Promise<Result> {
  const { roomId, viewer, userId } = await writerOf(principal, params.roomId, deps);
  const asked = { roomId, threadId: params.threadId, viewer, afterCommit };
  return changeThread(deps, asked, (change) => work(change, { ...viewer, userId }));
}

async function subjectOf(
  principal: Principal,
  { roomId, threadId }: Input['params'],
  deps: WritingDeps,
): Promise<{ thread: ThreadRow; userId: string }> {
  const writer = await writerOf(principal, roomId, deps);
  const found = await findThread(deps.db, { room: await findRoomRef(deps.db, writer.roomId), threadId });
  checkMayRead(writer.viewer, found);
  return { thread: found, userId: writer.userId };
}
