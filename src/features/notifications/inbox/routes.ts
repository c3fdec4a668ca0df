/** The endpoints of inboxes for back ends (contract, older listing; supplement 2.6). Those for clients stand in `../my-inbox`. */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import type { Outbox } from '../../../kernel/persistence/outbox.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import { type BoundRoute, bindRoute, empty, routeFor } from '../../../kernel/transport/route.ts';
import { type AppEvent, outboxRowsOf } from '../../../protocol/app-events.ts';
import { InboxNotification, OlderInboxNotification } from '../../../protocol/inbox.ts';
import { checkName, checkRoomId, NAME_LENGTHS } from '../../../protocol/names.ts';
import { fitting, listAsked, pageFrom, positionAt } from '../../../protocol/paging.ts';
import {
  addNotification,
  addToBatch,
  deleteNotifications,
  findNotification,
  findNotificationsOfThread,
  findThreadPk,
  holdRoom,
  listInbox,
  markRead,
} from './queries.ts';
import {
  checkNotificationId,
  checkTrigger,
  documentOf,
  filterOf,
  type InboxRow,
  noNotification,
  olderDocumentOf,
  organizationOf,
  positionOf,
} from './rules.ts';
import {
  ListQuery,
  NotificationOfUserParams,
  NotificationPage,
  NotificationParams,
  OfThreadReply,
  OrganizationQuery,
  ThreadParams,
  TriggerBody,
  UserParams,
} from './shapes.ts';

export interface InboxDeps {
  readonly db: Sql;
  readonly outbox: Outbox;
  /** Custom kinds whose activities gather in one notification. */
  readonly batchedKinds: ReadonlySet<string>;
  nowMs(): number;
  newNotificationId(): string;
  newActivityId(): string;
}

const route = routeFor<InboxDeps>();
const tag = 'Notifications';

const ofUser = { path: '/v2/users/:userId/inbox-notifications', needs: 'secret', tag, params: UserParams } as const;
const one = {
  path: '/v2/users/:userId/inbox-notifications/:inboxNotificationId',
  needs: 'secret',
  tag,
  params: NotificationOfUserParams,
  refuses: ['RESOURCE_NOT_FOUND'],
} as const;

export const listInboxRoute = route({
  ...ofUser,
  method: 'GET',
  summary: 'List the inbox notifications of a user, the latest first',
  query: ListQuery,
  reply: NotificationPage,
  async handle({ params, query }, { db }) {
    const userId = userIn(params);
    const { limit, startingAfter } = query;
    const scope = { userId, organizationId: organizationIn(query), filter: filterOf(query.query, 'back end'), readable: null };
    const list = listAsked('inbox', [userId, scope.organizationId, query.query]);
    const after = startingAfter === undefined ? null : positionAt(startingAfter, { list, key: 'startingAfter' });
    const found = await listInbox(db, scope, { after, limit: limit + 1 });
    const held = fitting(
      found.map(({ ownBytes }) => ({ answerBytes: ownBytes })),
      limit,
    );
    const { page, nextCursor } = pageFrom(found, { limit: held.length, list, positionOf });
    return { nextCursor, data: page.map(documentOf) };
  },
});

export const deleteInboxRoute = route({
  ...ofUser,
  method: 'DELETE',
  summary: 'Delete all inbox notifications of a user',
  once: 'transaction',
  query: OrganizationQuery,
  reply: empty(204),
  async handle({ params, query }, { db }) {
    await deleteNotifications(db, { userId: userIn(params), organizationId: organizationIn(query), id: null });
  },
});

export const getNotificationRoute = route({
  ...one,
  method: 'GET',
  summary: 'Get an inbox notification of a user',
  reply: InboxNotification,
  async handle({ params }, { db }) {
    return documentOf(await notificationIn(params, db));
  },
});

export const getOlderNotificationRoute = route({
  ...one,
  path: '/v2/users/:userId/inboxNotifications/:inboxNotificationId',
  method: 'GET',
  deprecated: true,
  summary: 'The same, with the data of the latest activity beside them all; see GET /v2/users/{userId}/inbox-notifications/{id}',
  reply: OlderInboxNotification,
  async handle({ params }, { db }) {
    return olderDocumentOf(await notificationIn(params, db));
  },
});

export const deleteNotificationRoute = route({
  ...one,
  method: 'DELETE',
  summary: 'Delete an inbox notification of a user',
  once: 'transaction',
  reply: empty(204),
  async handle({ params }, { db }) {
    const userId = userIn(params);
    const id = checkNotificationId(params.inboxNotificationId);
    if ((await deleteNotifications(db, { userId, organizationId: null, id })) === 0) throw noNotification(id);
  },
});

export const readNotificationRoute = route({
  method: 'POST',
  path: '/v2/inbox-notifications/:inboxNotificationId/read',
  needs: 'secret',
  tag,
  summary: 'Mark an inbox notification as read; what was read before keeps its time',
  once: 'transaction',
  params: NotificationParams,
  reply: empty(200),
  refuses: ['RESOURCE_NOT_FOUND'],
  async handle({ params }, { db }) {
    const id = checkNotificationId(params.inboxNotificationId);
    if (!(await markRead(db, id))) throw noNotification(id);
  },
});

export const triggerRoute = route({
  method: 'POST',
  path: '/v2/inbox-notifications/trigger',
  needs: 'secret',
  tag,
  summary: 'Put a notification of a kind of your own into the inbox of a user',
  once: 'transaction',
  body: TriggerBody,
  reply: empty(200),
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ body, afterCommit }, deps) {
    const trigger = checkTrigger(body);
    await deps.db.transaction((tx) => triggerIn(tx, trigger, deps));
    afterCommit(() => deps.outbox.nudge());
  },
});

export const listOfThreadRoute = route({
  method: 'GET',
  path: '/v2/rooms/:roomId/threads/:threadId/inbox-notifications',
  needs: 'secret',
  tag,
  summary: 'List the inbox notifications of a thread, of all users',
  params: ThreadParams,
  reply: OfThreadReply,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
  async handle({ params }, { db }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    const { threadId } = params;
    const threadPk = THREAD_ID.test(threadId)
      ? await findThreadPk(db, { roomId, threadId })
      : await findThreadPk(db, { roomId, threadId: '' });
    if (threadPk === 'no room') throw new AppError('ROOM_NOT_FOUND', { roomId });
    if (threadPk === null) throw new AppError('RESOURCE_NOT_FOUND', { kind: 'thread', id: threadId });
    return { data: (await findNotificationsOfThread(db, threadPk)).map(ofThread) };
  },
});

export function inboxRoutes(deps: InboxDeps): BoundRoute[] {
  return [
    bindRoute(listInboxRoute, deps),
    bindRoute(deleteInboxRoute, deps),
    bindRoute(getNotificationRoute, deps),
    bindRoute(getOlderNotificationRoute, deps),
    bindRoute(deleteNotificationRoute, deps),
    bindRoute(readNotificationRoute, deps),
    bindRoute(triggerRoute, deps),
    bindRoute(listOfThreadRoute, deps),
  ];
}

const THREAD_ID = /^th_[\w-]{1,64}$/;

function userIn({ userId }: { readonly userId: string }): string {
  return checkName(userId, 'userId', NAME_LENGTHS.userId);
}

function organizationIn({ organizationId }: { readonly organizationId?: string }): string | null {
  return organizationId === undefined ? null : checkName(organizationId, 'organizationId', NAME_LENGTHS.organizationId);
}

async function notificationIn(
  params: { readonly userId: string; readonly inboxNotificationId: string },
  db: Sql,
): Promise<InboxRow> {
  const userId = userIn(params);
  const id = checkNotificationId(params.inboxNotificationId);
  const found = await findNotification(db, { id, userId });
  if (found === null) throw noNotification(id);
  return found;
}

/** @throws AppError ROOM_NOT_FOUND, also for a room of another organisation than the one that is named. */
async function triggerIn(
  tx: Sql,
  { roomId, organizationId: asked, ...trigger }: ReturnType<typeof checkTrigger>,
  { outbox, batchedKinds, newNotificationId, newActivityId, nowMs }: InboxDeps,
): Promise<void> {
  const room = roomId === null ? null : await holdRoom(tx, roomId);
  if (roomId !== null && (room === null || (asked !== null && asked !== room.organizationId)))
    throw new AppError('ROOM_NOT_FOUND', { roomId });
  const at = isoFromMs(nowMs());
  const activity = {
    ...trigger,
    notificationId: newNotificationId(),
    activityId: newActivityId(),
    organizationId: organizationOf(asked, room),
    roomPk: room?.pk ?? null,
    nowIso: at,
  };
  const notificationId = await (batchedKinds.has(trigger.kind) ? addToBatch : addNotification)(tx, activity);
  const { userId, kind, subjectId } = trigger;
  const event: AppEvent = { type: 'inbox.notified', notificationId, userId, kind, roomId, at, about: { subjectId } };
  await outbox.add(tx, ...outboxRowsOf(event));
}

function ofThread(row: InboxRow) {
  const document = documentOf(row);
  if (!('threadId' in document)) throw new Error(`${row.id} is no notification of a thread`);
  return { ...document, userId: row.userId };
}
