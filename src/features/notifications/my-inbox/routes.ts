/**
 * The endpoints of the inbox for clients (protocol 7.2). What the token at hand does not let its user read is left out of lists, counts and
 * deltas, whatever was known when it was put into the inbox.
 */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import type { RoomId } from '../../../base/ids.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Principal } from '../../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, routeFor } from '../../../kernel/transport/route.ts';
import { checkRoomId } from '../../../protocol/names.ts';
import { changesSince, cursorAfter, earliest, fitting, listAsked, nextSinceMs, positionAt } from '../../../protocol/paging.ts';
import type { Permissions } from '../../../protocol/permissions.ts';
import type { Person } from '../../../protocol/person.ts';
import { findGroups } from '../groups/queries.ts';
import { forClients } from '../groups/rules.ts';
import {
  countUnread,
  deleteNotifications,
  findDeletedInboxSince,
  findInboxSince,
  findRoomsChangedSince,
  findRoomsOfUnread,
  type InboxChanges,
  type InboxScope,
  listInbox,
  lookAhead,
  markReadOf,
  type RoomOfInbox,
} from '../inbox/queries.ts';
import {
  checkNotificationId,
  documentOf,
  filterOf,
  groupsNamedIn,
  type InboxRow,
  knowableIds,
  noNotification,
  positionOf,
  type Readable,
  readableOf,
} from '../inbox/rules.ts';
import {
  ClientDelta,
  ClientList,
  ClientListQuery,
  CountQuery,
  CountReply,
  DeltaQuery,
  Nothing,
  NotificationParams,
  ReadBody,
  ReadInRoomBody,
  RoomParams,
} from '../inbox/shapes.ts';

export interface MyInboxDeps {
  readonly db: Sql;
  nowMs(): number;
  personOf(principal: Principal): Person;
  /** All `none` where the user may not enter. */
  permissionsIn(principal: Principal, room: RoomOfInbox): Promise<Permissions>;
  roomExists(roomId: RoomId): Promise<boolean>;
  /** Threads and subscriptions as clients read them. */
  findThreads(db: Sql, pks: readonly number[]): Promise<object[]>;
  findSubscriptions(db: Sql, of: { readonly userId: string; readonly threadPks: readonly number[] }): Promise<object[]>;
  /** What else has changed of threads that the user may read: threads to forget, subscriptions, and those to forget. */
  findThreadChangesSince(
    db: Sql,
    of: { readonly userId: string; readonly readable: Readable; readonly sinceMs: number },
  ): Promise<{ readonly deletedThreads: object[]; readonly subscriptions: object[]; readonly deletedSubscriptions: object[] }>;
}

const route = routeFor<MyInboxDeps>();
const tag = 'Notifications';
const mine = { path: '/v2/c/inbox-notifications', needs: 'personal:read', tag } as const;
const change = { ...mine, needs: 'personal:write', reply: Nothing } as const;

export const listMyInboxRoute = route({
  ...mine,
  method: 'GET',
  summary: 'For the SDK: the notifications of the user, the latest first, with the threads they are of',
  query: ClientListQuery,
  reply: ClientList,
  async handle({ principal, query }, deps) {
    const requestedAt = isoFromMs(deps.nowMs()); // before anything is read: what comes later is in the next delta
    const { limit, cursor } = query;
    const asked = askedBy(principal, query.query, deps);
    const list = listAsked('my-inbox', [asked.userId, asked.organizationId, query.query]);
    const after = cursor === undefined ? null : positionAt(cursor, { list, key: 'cursor' });
    const { rooms, to } = await lookAhead(deps.db, asked, after);
    const scope = { ...asked, readable: await judged(principal, rooms, deps) };
    const found = await listInbox(deps.db, scope, { after, to, limit: limit + 1 }); // one more tells whether another page follows
    const page = fitting(found, limit);
    const last = found.length > page.length ? positionOf(page.at(-1)!) : to;
    const ids = groupsNamedIn(page);
    const { userId } = scope;
    return {
      ...(await shown(page, deps)),
      subscriptions: await deps.findSubscriptions(deps.db, { userId, threadPks: threadsOf(page) }),
      groups: (await findGroups(deps.db, { ids, organizationId: scope.organizationId })).map(forClients),
      meta: {
        requestedAt,
        nextCursor: last === null ? null : cursorAfter(last, list),
      },
    };
  },
});

export const listMyInboxSinceRoute = route({
  ...mine,
  path: '/v2/c/inbox-notifications/delta',
  method: 'GET',
  summary: 'For the SDK: what has changed in the inbox since it asked last, and perhaps some from before',
  query: DeltaQuery,
  reply: ClientDelta,
  async handle({ principal, query }, deps) {
    const sinceMs = changesSince(query.since);
    const requestedAtMs = deps.nowMs();
    const { userId, organizationId } = deps.personOf(principal);
    const { rooms, changes } = await readMineSince(principal, { query: query.query, sinceMs }, deps);
    const readable = readableOf(rooms);
    const { deletedInboxNotifications, leftOutMs } = await findDeletedInboxSince(deps.db, {
      userId,
      organizationId,
      roomId: null,
      sinceMs,
    });
    return {
      inboxNotifications: changes.inboxNotifications,
      threads: await deps.findThreads(deps.db, changes.threadPks),
      ...(await deps.findThreadChangesSince(deps.db, { userId, readable, sinceMs })),
      deletedInboxNotifications,
      meta: { requestedAt: isoFromMs(nextSinceMs(requestedAtMs, earliest(changes.leftOutMs, leftOutMs))) },
    };
  },
});

export const countMyUnreadRoute = route({
  ...mine,
  path: '/v2/c/inbox-notifications/count',
  method: 'GET',
  summary: 'For the SDK: how many notifications of the user are unread',
  query: CountQuery,
  reply: CountReply,
  async handle({ principal, query }, deps) {
    const asked = askedBy(principal, query.query, deps);
    const readable = await judged(principal, await findRoomsOfUnread(deps.db, asked), deps);
    return { count: await countUnread(deps.db, { ...asked, readable }) };
  },
});

export const readMineRoute = route({
  ...change,
  path: '/v2/c/inbox-notifications/read',
  method: 'POST',
  summary: 'For the SDK: mark notifications of the user as read, or all; ids of others are passed by',
  once: 'transaction',
  body: ReadBody,
  async handle({ principal, body: { inboxNotificationIds: ids } }, { db, personOf }) {
    await markReadOf(db, personOf(principal), ids === 'all' ? ids : knowableIds(ids));
    return {};
  },
});

export const readMineInRoomRoute = route({
  method: 'POST',
  path: '/v2/c/rooms/:roomId/inbox-notifications/read',
  needs: 'comments:read',
  tag,
  summary: 'For the SDK: mark notifications of the user as read; whoever has the public key has none',
  once: 'transaction',
  params: RoomParams,
  body: ReadInRoomBody,
  reply: Nothing,
  refuses: ['ROOM_NOT_FOUND'],
  async handle({ params, principal, body }, { db, personOf, roomExists }) {
    const roomId = checkRoomId(params.roomId, 'roomId');
    if (!(await roomExists(roomId))) throw new AppError('ROOM_NOT_FOUND', { roomId });
    if (principal.kind !== 'public') await markReadOf(db, personOf(principal), knowableIds(body.inboxNotificationIds));
    return {};
  },
});

export const deleteMineRoute = route({
  ...change,
  path: '/v2/c/inbox-notifications/:inboxNotificationId',
  method: 'DELETE',
  summary: 'For the SDK: delete a notification of the user',
  once: 'transaction',
  params: NotificationParams,
  refuses: ['RESOURCE_NOT_FOUND'],
  async handle({ params, principal }, { db, personOf }) {
    const person = personOf(principal);
    const id = checkNotificationId(params.inboxNotificationId);
    if ((await deleteNotifications(db, { ...person, id })) === 0) throw noNotification(id);
    return {};
  },
});

export const deleteAllMineRoute = route({
  ...change,
  method: 'DELETE',
  summary: 'For the SDK: delete all notifications of the user',
  once: 'transaction',
  async handle({ principal }, { db, personOf }) {
    await deleteNotifications(db, { ...personOf(principal), id: null });
    return {};
  },
});

export function myInboxRoutes(deps: MyInboxDeps): BoundRoute[] {
  return [
    bindRoute(listMyInboxRoute, deps),
    bindRoute(listMyInboxSinceRoute, deps),
    bindRoute(countMyUnreadRoute, deps),
    bindRoute(readMineRoute, deps),
    bindRoute(readMineInRoomRoute, deps),
    bindRoute(deleteMineRoute, deps),
    bindRoute(deleteAllMineRoute, deps),
  ];
}

/** What is asked of whose inbox, before it is known what may be read. */
function askedBy(
  principal: Principal,
  query: string | undefined,
  { personOf }: Pick<MyInboxDeps, 'personOf'>,
): InboxScope & Person {
  return { ...personOf(principal), filter: filterOf(query, 'client'), readable: null };
}

/** A room, and what the token at hand lets its user do there. */
interface JudgedRoom {
  readonly pk: number;
  readonly id: RoomId;
  readonly permissions: Permissions;
}

function judgedRooms(
  principal: Principal,
  rooms: readonly RoomOfInbox[],
  { permissionsIn }: Pick<MyInboxDeps, 'permissionsIn'>,
): Promise<JudgedRoom[]> {
  return Promise.all(
    rooms.map(async (room) => ({ pk: room.pk, id: room.id, permissions: await permissionsIn(principal, room) })),
  );
}

async function judged(principal: Principal, rooms: readonly RoomOfInbox[], deps: MyInboxDeps): Promise<Readable> {
  return readableOf(await judgedRooms(principal, rooms, deps));
}

/** What has changed since in the inbox of whoever asks, in all rooms and in none, and the rooms in which there may be more to tell. */
export async function readMineSince(
  principal: Principal,
  { query, sinceMs }: { readonly query: string | undefined; readonly sinceMs: number },
  deps: Pick<MyInboxDeps, 'db' | 'personOf' | 'permissionsIn'>,
): Promise<{ readonly rooms: JudgedRoom[]; readonly changes: InboxChanges }> {
  const asked = askedBy(principal, query, deps);
  const rooms = await judgedRooms(principal, await findRoomsChangedSince(deps.db, asked, sinceMs), deps);
  return { rooms, changes: await findInboxSince(deps.db, { ...asked, readable: readableOf(rooms) }, sinceMs) };
}

async function shown(rows: readonly InboxRow[], { db, findThreads }: MyInboxDeps) {
  return { inboxNotifications: rows.map(documentOf), threads: await findThreads(db, threadsOf(rows)) };
}

function threadsOf(rows: readonly InboxRow[]): number[] {
  return rows.flatMap(({ threadPk }) => (threadPk === null ? [] : [threadPk]));
}
