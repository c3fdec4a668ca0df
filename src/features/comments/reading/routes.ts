/** What the SDK in a browser reads of threads (protocol 7.2), of one room and of all rooms of a user. What may not be read is left out. */
import { isoFromMs } from '../../../base/clock.ts';
import { AppError } from '../../../base/errors.ts';
import type { RoomId } from '../../../base/ids.ts';
import type { Sql } from '../../../kernel/persistence/sql.ts';
import type { Principal } from '../../../kernel/transport/principal.ts';
import { type BoundRoute, bindRoute, routeFor } from '../../../kernel/transport/route.ts';
import { type SubscriptionDocument, type ThreadForClients, threadForClients } from '../../../protocol/comments.ts';
import type { DeletedInboxNotification, InboxNotification } from '../../../protocol/inbox.ts';
import { checkRoomId } from '../../../protocol/names.ts';
import { changesSince, cursorAfter, earliest, fitting, listAsked, nextSinceMs, positionAt } from '../../../protocol/paging.ts';
import type { Permissions } from '../../../protocol/permissions.ts';
import type { Person } from '../../../protocol/person.ts';
import { findRoomPk } from '../../../room/room-row.ts';
import { findThreadsByPk } from '../documents/queries.ts';
import type { SubscriptionDefault } from '../filters/queries.ts';
import { filterOf } from '../filters/rules.ts';
import { findSubscriptions, findSubscriptionsSince } from '../subscriptions/queries.ts';
import { findThread, listThreads, readThread } from '../threads/queries.ts';
import { checkMayRead, type Viewer } from '../threads/rules.ts';
import { RoomParams, ThreadParams } from '../threads/shapes.ts';
import { findRoomsOfThreads, listChanged, listDeleted, type RoomOfThreads, searchComments } from './queries.ts';
import { ANSWER_LIMITS, hintsFor, NOT_MADE_PK, roomPksOf, type VisitedRoom, wordsOf } from './rules.ts';
import {
  FoundComments,
  PageQuery,
  SearchQuery,
  SinceQuery,
  ThreadChanges,
  ThreadPage,
  ThreadWithNotification,
  UserThreadChanges,
  UserThreadPage,
} from './shapes.ts';

/** What has changed in an inbox, and the threads that it is of. */
interface InboxChanges {
  readonly inboxNotifications: InboxNotification[];
  readonly threadPks: readonly number[];
  /** When the first that did not fit into the answer changed; null: all did. */
  readonly leftOutMs: number | null;
}

interface InboxDeletions {
  readonly deletedInboxNotifications: DeletedInboxNotification[];
  /** As of what has changed. */
  readonly leftOutMs: number | null;
}

const NOTHING_DELETED: InboxDeletions = { deletedInboxNotifications: [], leftOutMs: null };
const NO_NEWS: InboxChanges = { inboxNotifications: [], threadPks: [], leftOutMs: null };

/** With the rooms that it is of. */
interface InboxNews {
  readonly rooms: readonly VisitedRoom[];
  readonly changes: InboxChanges;
}

/** What the inbox knows of threads. */
export interface InboxOfThreads {
  of(db: Sql, asked: { userId: string; threadPks: readonly number[] }): Promise<InboxNotification[]>;
  /** What has changed of threads of one room. */
  ofRoomSince(db: Sql, asked: { userId: string; room: VisitedRoom; sinceMs: number }): Promise<InboxChanges>;
  /** All that has changed for whoever asks: in all rooms and in none, as far as the token at hand lets it be read. */
  ofPersonSince(principal: Principal, sinceMs: number): Promise<InboxNews>;
  /** `roomId` null: of all rooms. */
  deletedSince(db: Sql, asked: Person & { roomId: string | null; sinceMs: number }): Promise<InboxDeletions>;
}

export interface ReadingDeps {
  readonly db: Sql;
  readonly byDefault: SubscriptionDefault;
  readonly inbox: InboxOfThreads;
  nowMs(): number;
  /** @throws AppError ROOM_NOT_FOUND, UNAUTHORIZED_ROOM_ACCESS as at entry. */
  viewerOf(principal: Principal, roomId: RoomId): Promise<Viewer>;
  /** @throws AppError UNAUTHORIZED_ROOM_ACCESS for a key, which is nobody. */
  personOf(principal: Principal): Person;
  /** Null for who has no access. */
  permissionsIn(principal: Principal, room: RoomOfThreads): Promise<Permissions | null>;
}

const route = routeFor<ReadingDeps>();
const tag = 'Comments';
const inRoom = { method: 'GET', needs: 'comments:read', tag, params: RoomParams, refuses: ['ROOM_NOT_FOUND'] } as const;
const personal = { method: 'GET', needs: 'personal:read', tag, refuses: ['UNAUTHORIZED_ROOM_ACCESS'] } as const;

export const listForClientsRoute = route({
  ...inRoom,
  path: '/v2/c/rooms/:roomId/threads',
  summary: 'For the SDK: the threads of a room, newest first',
  query: PageQuery,
  reply: ThreadPage,
  async handle({ params, query, principal }, deps) {
    const { room, userId } = await visit(principal, params.roomId, deps);
    const { threads, ...rest } = await pageOf({ rooms: [room], userId, which: 'all', query }, deps);
    return { data: threads, ...rest };
  },
});

export const listSinceRoute = route({
  ...inRoom,
  path: '/v2/c/rooms/:roomId/threads/delta',
  summary: 'For the SDK: what has changed in the threads of a room since it asked last, and perhaps a little before',
  query: SinceQuery,
  reply: ThreadChanges,
  async handle({ params, query, principal }, deps) {
    const sinceMs = changesSince(query.since);
    const requestedAtMs = deps.nowMs(); // before anything is read: what comes later is in the next answer
    const { room, userId } = await visit(principal, params.roomId, deps);
    const { db, inbox } = deps;
    const asked = { rooms: [room], userId, which: 'all', sinceMs, requestedAtMs } as const;
    const changes = userId === null ? NO_NEWS : await inbox.ofRoomSince(db, { userId, room, sinceMs });
    const deleted =
      userId === null ? NOTHING_DELETED : await inbox.deletedSince(db, { ...deps.personOf(principal), roomId: room.id, sinceMs });
    const { threads, ...rest } = await changesOf({ ...asked, inbox: { rooms: [], changes }, deleted }, deps);
    return { data: threads, ...rest };
  },
});

export const searchRoute = route({
  ...inRoom,
  path: '/v2/c/rooms/:roomId/threads/comments/search',
  summary: `For the SDK: the newest ${ANSWER_LIMITS.foundMax} comments of a room that have some words`,
  query: SearchQuery,
  reply: FoundComments,
  async handle({ params, query, principal }, deps) {
    const clauses = filterOf(query.query, 'search');
    const words = wordsOf(query.text);
    const { room } = await visit(principal, params.roomId, deps);
    return { data: await searchComments(deps.db, { roomPks: roomPksOf([room]), words, clauses, byDefault: deps.byDefault }) };
  },
});

export const threadWithNotificationRoute = route({
  ...inRoom,
  path: '/v2/c/rooms/:roomId/thread-with-notification/:threadId',
  summary: 'For the SDK: a thread, and what the user has of it',
  params: ThreadParams,
  reply: ThreadWithNotification,
  refuses: ['ROOM_NOT_FOUND', 'RESOURCE_NOT_FOUND'],
  async handle({ params, principal }, deps) {
    const { room, userId, viewer } = await visit(principal, params.roomId, deps);
    const found = await findThread(deps.db, { room, threadId: params.threadId });
    checkMayRead(viewer, found);
    const thread = threadForClients(await readThread(deps.db, found));
    const { inboxNotifications, subscriptions } = await ofUser(userId, [found.pk], deps);
    const [inboxNotification] = inboxNotifications;
    const [subscription] = subscriptions;
    return {
      thread,
      ...(inboxNotification !== undefined && { inboxNotification }),
      ...(subscription !== undefined && { subscription }),
    };
  },
});

export const listForUserRoute = route({
  ...personal,
  path: '/v2/c/threads',
  summary: 'For the SDK: the threads that a user takes part in or is subscribed to, in all rooms, newest first',
  query: PageQuery,
  reply: UserThreadPage,
  async handle({ query, principal }, deps) {
    const { userId } = deps.personOf(principal);
    const rooms = await roomsOf(principal, { deletedSinceMs: null }, deps);
    return pageOf({ rooms, userId, which: 'of the user', query }, deps);
  },
});

export const listForUserSinceRoute = route({
  ...personal,
  path: '/v2/c/threads/delta',
  summary: 'For the SDK: what has changed in the threads of a user since it asked last, and perhaps a little before',
  query: SinceQuery,
  reply: UserThreadChanges,
  async handle({ query, principal }, deps) {
    const sinceMs = changesSince(query.since);
    const person = deps.personOf(principal);
    const requestedAtMs = deps.nowMs(); // before anything is read: what comes later is in the next answer
    const rooms = await roomsOf(principal, { deletedSinceMs: sinceMs }, deps);
    const inbox = await deps.inbox.ofPersonSince(principal, sinceMs); // whole: the SDK takes it for a delta of the inbox, too
    const asked = { rooms, userId: person.userId, which: 'of the user', sinceMs, requestedAtMs } as const;
    const deleted = await deps.inbox.deletedSince(deps.db, { ...person, roomId: null, sinceMs });
    return changesOf({ ...asked, inbox, deleted }, deps);
  },
});

export function readingRoutes(deps: ReadingDeps): BoundRoute[] {
  return [
    bindRoute(listForClientsRoute, deps),
    bindRoute(listSinceRoute, deps),
    bindRoute(searchRoute, deps),
    bindRoute(threadWithNotificationRoute, deps),
    bindRoute(listForUserRoute, deps),
    bindRoute(listForUserSinceRoute, deps),
  ];
}

/**
 * The room as whoever asks may read it. One that a user may make by entering is empty until then, and says what they may do there: the SDK asks
 * before its socket has made it, and takes a 404 for no permission.
 */
async function visit(
  principal: Principal,
  roomId: string,
  { db, viewerOf }: ReadingDeps,
): Promise<{ room: VisitedRoom; userId: string | null; viewer: Viewer }> {
  const id = checkRoomId(roomId, 'roomId');
  const viewer = await viewerOf(principal, id);
  const pk = await findRoomPk(db, id);
  if (pk === null && principal.kind !== 'user') throw new AppError('ROOM_NOT_FOUND', { roomId });
  return { room: { pk: pk ?? NOT_MADE_PK, id, permissions: viewer.permissions }, userId: viewer.userId, viewer };
}

async function roomsOf(
  principal: Principal,
  when: { deletedSinceMs: number | null },
  { db, personOf, permissionsIn }: ReadingDeps,
): Promise<VisitedRoom[]> {
  const rooms: VisitedRoom[] = [];
  for (const room of await findRoomsOfThreads(db, personOf(principal), when)) {
    const permissions = await permissionsIn(principal, room);
    if (permissions !== null) rooms.push({ pk: room.pk, id: room.id, permissions });
  }
  return rooms;
}

interface Asked {
  readonly rooms: readonly VisitedRoom[];
  readonly userId: string | null;
  readonly which: 'all' | 'of the user';
}

async function pageOf(
  { rooms, userId, which, query }: Asked & { query: { limit: number; cursor?: string; query?: string } },
  deps: ReadingDeps,
) {
  const { db, byDefault, nowMs } = deps;
  const list =
    which === 'all' ? listAsked('threads', [rooms[0]?.id, query.query]) : listAsked('user-threads', [userId, query.query]);
  const clauses = filterOf(query.query, 'client');
  const after = query.cursor === undefined ? null : positionAt(query.cursor, { list, key: 'cursor' });
  const requestedAt = isoFromMs(nowMs()); // before anything is read: what comes later is in the next answer
  const asked = { roomPks: roomPksOf(rooms), userId, clauses, byDefault, after, which, limit: query.limit + 1 };
  const found = await listThreads(db, asked); // one more tells whether another page follows
  const page = fitting(found, query.limit);
  const last = found.length > page.length ? page.at(-1) : undefined;
  const nextCursor = last === undefined ? null : cursorAfter({ atMs: Date.parse(last.createdAt), pk: last.pk }, list);
  const pks = page.map(({ pk }) => pk);
  const threads = (await findThreadsByPk(db, pks)).map(threadForClients);
  const permissionHints = hintsFor(which === 'all' ? rooms : roomsIn(rooms, threads));
  return { threads, ...(await ofUser(userId, pks, deps)), meta: { requestedAt, nextCursor, permissionHints } };
}

interface SinceAsked extends Asked {
  readonly sinceMs: number;
  readonly requestedAtMs: number;
  readonly inbox: InboxNews;
  readonly deleted: InboxDeletions;
}

/** Who asks for changes of one room knows its threads; who asks for those of all rooms is told, too, the threads that the news of the inbox are of. */
async function changesOf({ rooms, userId, which, sinceMs, requestedAtMs, inbox, deleted }: SinceAsked, deps: ReadingDeps) {
  const { db, byDefault } = deps;
  const roomPks = roomPksOf(rooms);
  const asked = { roomPks, userId, which, sinceMs };
  const changed = await listChanged(db, asked);
  const told = fitting(changed, ANSWER_LIMITS.changedMax);
  const leftOut = changed[told.length];
  const leftOutMs = earliest(
    inbox.changes.leftOutMs,
    deleted.leftOutMs,
    leftOut === undefined ? null : Date.parse(leftOut.changedAt),
  );
  const pks = told.map(({ pk }) => pk);
  const { inboxNotifications: news, threadPks: pksOfNews } = inbox.changes;
  const shown = which === 'all' ? pks : [...new Set([...pks, ...pksOfNews])];
  const threads = (await findThreadsByPk(db, shown)).map(threadForClients);
  const without = pks.filter((pk) => !pksOfNews.includes(pk));
  const older = userId === null ? [] : await deps.inbox.of(db, { userId, threadPks: without });
  const { subscriptions, deleted: deletedSubscriptions } =
    userId === null
      ? { subscriptions: [], deleted: [] }
      : await findSubscriptionsSince(db, { userId, roomPks, sinceMs, byDefault });
  return {
    threads,
    inboxNotifications: [...older, ...news],
    subscriptions,
    deletedThreads: await listDeleted(db, asked),
    deletedSubscriptions,
    deletedInboxNotifications: deleted.deletedInboxNotifications,
    meta: {
      requestedAt: isoFromMs(nextSinceMs(requestedAtMs, leftOutMs)),
      permissionHints: hintsFor(which === 'all' ? rooms : roomsIn([...rooms, ...inbox.rooms], threads)),
    },
  };
}

function roomsIn(rooms: readonly VisitedRoom[], threads: readonly ThreadForClients[]): VisitedRoom[] {
  const ids = new Set(threads.map(({ roomId }) => roomId));
  return rooms.filter(({ id }) => ids.has(id));
}

async function ofUser(
  userId: string | null,
  threadPks: readonly number[],
  { db, byDefault, inbox }: ReadingDeps,
): Promise<{ inboxNotifications: InboxNotification[]; subscriptions: SubscriptionDocument[] }> {
  if (userId === null || threadPks.length === 0) return { inboxNotifications: [], subscriptions: [] };
  const inboxNotifications = await inbox.of(db, { userId, threadPks });
  return { inboxNotifications, subscriptions: await findSubscriptions(db, { userId, threadPks, byDefault }) };
}
