/** The endpoints of threads, for back ends (contract, Threads and comments; supplement 2.4, rows 32 to 39). */
import { valueAtKey } from '../../../base/errors.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { mentionsIn, type ThreadDocument } from '../../../protocol/comments.ts';
import { checkName, checkRoomId, NAME_LENGTHS } from '../../../protocol/names.ts';
import { findRoomRef } from '../../../room/room-row.ts';
import { createThread } from '../comments/queries.ts';
import { newCommentOf } from '../comments/rules.ts';
import { findThreadsByPk } from '../documents/queries.ts';
import type { SubscriptionDefault } from '../filters/queries.ts';
import { filterOf } from '../filters/rules.ts';
import {
  type ChangeDeps,
  changeThread,
  deleteThread,
  findThread,
  type ListedThread,
  listThreads,
  readThread,
  setResolved,
  setThreadMetadata,
  type ThreadAsked,
} from './queries.ts';
import { BACK_END, checkMetadata, checkTime, metadataAfter } from './rules.ts';
import {
  ListQuery,
  Metadata,
  NewThreadBody,
  Participants,
  RoomParams,
  ThreadList,
  ThreadMetadataBody,
  ThreadParams,
  ThreadReply,
  UserBody,
} from './shapes.ts';

export interface ThreadsDeps extends ChangeDeps {
  readonly byDefault: SubscriptionDefault;
  newId(prefix: string): string;
}

const route = routeFor<ThreadsDeps>();
const tag = 'Comments';
const listed = { path: '/v2/rooms/:roomId/threads', needs: 'secret', tag, params: RoomParams } as const;
const one = {
  path: '/v2/rooms/:roomId/threads/:threadId',
  needs: 'secret',
  tag,
  params: ThreadParams,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
} as const;

/** The contract knows no pages here, so a list that no answer could hold is refused instead. */
const LISTED_MAX = 10_000;
const LISTED_BYTES_MAX = 32 * 1024 * 1024;

export const listThreadsRoute = route({
  ...listed,
  method: 'GET',
  summary: 'List the threads of a room with their comments, newest first',
  query: ListQuery,
  reply: ThreadList,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, query }, { db, byDefault }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const clauses = filterOf(query.query, 'back end');
    const { pk } = await findRoomRef(db, roomId);
    const asked = { roomPks: { public: [pk], private: [pk] }, userId: null, clauses, byDefault, after: null } as const;
    const found = await listThreads(db, { ...asked, limit: LISTED_MAX + 1, which: 'all' });
    checkAnswerable(found);
    return {
      data: await findThreadsByPk(
        db,
        found.map((thread) => thread.pk),
      ),
    };
  },
});

export const createThreadRoute = route({
  ...listed,
  method: 'POST',
  summary: 'Create a thread with its first comment',
  once: 'transaction',
  body: NewThreadBody,
  reply: ThreadReply,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_ALREADY_EXISTS'],
  async handle({ params, body, afterCommit }, deps) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const comment = newCommentOf({ ...body.comment, id: deps.newId('cm_') }, { nowMs: deps.nowMs(), within: 'comment.' });
    const id = deps.newId('th_');
    const metadata = checkMetadata(body.metadata);
    const pk = await createThread(deps, { roomId, id, visibility: body.visibility ?? 'public', metadata, comment });
    afterCommit(() => deps.outbox.nudge());
    return readThread(deps.db, { pk, id });
  },
});

export const getThreadRoute = route({
  ...one,
  method: 'GET',
  summary: 'Get a thread with its comments',
  reply: ThreadReply,
  async handle({ params }, deps) {
    return threadAt(params, deps);
  },
});

export const deleteThreadRoute = route({
  ...one,
  method: 'DELETE',
  summary: 'Delete a thread for good',
  once: 'transaction',
  reply: empty(204),
  async handle({ params, afterCommit }, deps) {
    await changeThread(deps, askedOf(params, afterCommit), deleteThread);
  },
});

export const participantsRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/threads/:threadId/participants',
  method: 'GET',
  deprecated: true,
  summary: 'List authors and mentioned users of a thread; the subscriptions of the thread tell more',
  reply: Participants,
  async handle({ params }, deps) {
    const { comments } = await threadAt(params, deps);
    const ids = comments.flatMap(({ userId, body }) => (body === undefined ? [] : [userId, ...mentionsIn(body).userIds]));
    return { participantIds: [...new Set(ids)] };
  },
});

export const threadMetadataRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/threads/:threadId/metadata',
  method: 'POST',
  summary: 'Change the metadata of a thread; null removes a key',
  once: 'transaction',
  body: ThreadMetadataBody,
  reply: Metadata,
  async handle({ params, body, afterCommit }, deps) {
    const asked = askedOf(params, afterCommit);
    const by = checkName(body.userId, 'userId', NAME_LENGTHS.userId);
    const givenAtMs = checkTime(body.createdAt, 'createdAt', deps.nowMs());
    const atMs = checkTime(body.updatedAt, 'updatedAt', givenAtMs);
    metadataAfter({}, body.metadata);
    return changeThread(deps, asked, (change) => setThreadMetadata(change, { changes: body.metadata, by, atMs }));
  },
});

export const resolveThreadRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/threads/:threadId/mark-as-resolved',
  method: 'POST',
  summary: 'Mark a thread as resolved',
  once: 'transaction',
  body: UserBody,
  reply: ThreadReply,
  async handle({ params, body, afterCommit }, deps) {
    return mark(deps, askedOf(params, afterCommit), { userId: body.userId, to: 'resolved' });
  },
});

export const unresolveThreadRoute = route({
  ...one,
  path: '/v2/rooms/:roomId/threads/:threadId/mark-as-unresolved',
  method: 'POST',
  summary: 'Mark a thread as not resolved',
  once: 'transaction',
  body: UserBody,
  reply: ThreadReply,
  async handle({ params, body, afterCommit }, deps) {
    return mark(deps, askedOf(params, afterCommit), { userId: body.userId, to: 'unresolved' });
  },
});

export function threadRoutes(deps: ThreadsDeps): BoundRoute[] {
  return [
    bindRoute(listThreadsRoute, deps),
    bindRoute(createThreadRoute, deps),
    bindRoute(getThreadRoute, deps),
    bindRoute(deleteThreadRoute, deps),
    bindRoute(participantsRoute, deps),
    bindRoute(threadMetadataRoute, deps),
    bindRoute(resolveThreadRoute, deps),
    bindRoute(unresolveThreadRoute, deps),
  ];
}

interface ThreadPath {
  readonly roomId: string;
  readonly threadId: string;
}

function askedOf({ roomId, threadId }: ThreadPath, afterCommit: ThreadAsked['afterCommit']): ThreadAsked {
  return { roomId: checkRoomId(roomId, 'roomId'), threadId, viewer: BACK_END, afterCommit };
}

async function threadAt({ roomId, threadId }: ThreadPath, { db }: ThreadsDeps): Promise<ThreadDocument> {
  const room = await findRoomRef(db, checkRoomId(roomId, 'roomId'));
  return readThread(db, await findThread(db, { room, threadId }));
}

async function mark(
  deps: ThreadsDeps,
  asked: ThreadAsked,
  { userId, to }: { userId: string; to: 'resolved' | 'unresolved' },
): Promise<ThreadDocument> {
  const by = checkName(userId, 'userId', NAME_LENGTHS.userId);
  return changeThread(deps, asked, async (change) => {
    await setResolved(change, { resolved: to === 'resolved', by, atMs: deps.nowMs() });
    return readThread(change.tx, change.thread);
  });
}

function checkAnswerable(threads: readonly ListedThread[]): void {
  const bytes = threads.reduce((sum, { answerBytes }) => sum + answerBytes, 0);
  if (threads.length > LISTED_MAX || bytes > LISTED_BYTES_MAX)
    throw valueAtKey('query', `finds more than ${LISTED_MAX} threads, or ${LISTED_BYTES_MAX} bytes of comments; ask for fewer`);
}
