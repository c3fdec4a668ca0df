/** Comments as this worker serves them: their routes, what those need of other features, and the live events that follow a change. */
import { systemClock, systemRandom } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { newId, type RoomId } from '../base/ids.ts';
import { bringingRoutes } from '../features/comments/bringing/routes.ts';
import { commentRoutes } from '../features/comments/comments/routes.ts';
import type { SubscriptionDefault } from '../features/comments/filters/queries.ts';
import type { RoomOfThreads } from '../features/comments/reading/queries.ts';
import { type InboxOfThreads, readingRoutes } from '../features/comments/reading/routes.ts';
import { subscriptionRoutes } from '../features/comments/subscriptions/routes.ts';
import { threadRoutes } from '../features/comments/threads/routes.ts';
import { BACK_END } from '../features/comments/threads/rules.ts';
import { writingRoutes } from '../features/comments/writing/routes.ts';
import { findDeletedInboxSince, findInboxOfThreads, findInboxSince } from '../features/notifications/inbox/queries.ts';
import { readableOf } from '../features/notifications/inbox/rules.ts';
import { readMineSince } from '../features/notifications/my-inbox/routes.ts';
import { ReaderNotes } from '../features/notifications/readers/queries.ts';
import { findRoomIds, type RoomAtEntry } from '../features/rooms/queries.ts';
import { permissionsIn, personOf } from '../features/tokens/queries.ts';
import type { Sql } from '../kernel/persistence/sql.ts';
import type { SqlOutbox } from '../kernel/persistence/sql-outbox.ts';
import type { Principal } from '../kernel/transport/principal.ts';
import type { BoundRoute } from '../kernel/transport/route.ts';
import { type AppEvent, appEventOf } from '../protocol/app-events.ts';
import { NO_PERMISSIONS, type Permissions } from '../protocol/permissions.ts';
import type { CommentMessage } from '../protocol/server-messages.ts';
import type { Command, RoomDoor } from '../room/shapes.ts';
import { type RoomHint, RoomHints } from './room-hints.ts';

interface CommentParts {
  readonly db: Sql;
  readonly outbox: SqlOutbox;
  readonly rooms: RoomDoor;
  /** What who has set nothing for a room is subscribed to there. */
  readonly byDefault: SubscriptionDefault;
  findRoom(roomId: RoomId): Promise<RoomAtEntry | null>;
}

export function commentParts({ db, outbox, rooms, byDefault, findRoom }: CommentParts): BoundRoute[] {
  const hints = new RoomHints({ rooms, clock: systemClock });
  outbox.consume('live', async (rows, tx) => {
    const found = await hintsOf(rows.map(appEventOf), tx);
    return () => {
      for (const hint of found) hints.tell(hint);
    };
  });
  const readers = new ReaderNotes({ db, clock: systemClock });
  const deps = {
    db,
    outbox,
    byDefault,
    nowMs: () => systemClock.nowMs(),
    newId: (prefix: string) => newId(systemRandom, prefix),
  };
  const clients = {
    ...deps,
    personOf,
    viewerOf: async (principal: Principal, roomId: RoomId) => {
      if (principal.kind === 'secret') return BACK_END;
      const permissions = await permissionsIn(principal, { roomId, findRoom });
      if (principal.kind !== 'user') return { userId: null, permissions };
      const { userId } = personOf(principal);
      await readers.note(userId, { roomId, permissions });
      return { userId, permissions };
    },
    permissionsIn: (principal: Principal, room: RoomOfThreads) => permissionsOrNone(principal, room),
    inbox: inboxOfThreads(db),
  };
  return [
    ...threadRoutes(deps),
    ...commentRoutes(deps),
    ...subscriptionRoutes(deps),
    ...readingRoutes(clients),
    ...writingRoutes(clients),
    ...bringingRoutes(deps),
  ];
}

function inboxOfThreads(db: Sql): InboxOfThreads {
  const permissionsIn = async (principal: Principal, room: RoomOfThreads) =>
    (await permissionsOrNone(principal, room)) ?? NO_PERMISSIONS;
  return {
    of: findInboxOfThreads,
    ofRoomSince: (sql, { userId, room, sinceMs }) => {
      const filter = { roomIds: [room.id], kinds: ['thread'], unread: [] };
      return findInboxSince(sql, { userId, organizationId: null, filter, readable: readableOf([room]) }, sinceMs);
    },
    ofPersonSince: (principal, sinceMs) =>
      readMineSince(principal, { query: undefined, sinceMs }, { db, personOf, permissionsIn }),
    deletedSince: findDeletedInboxSince,
  };
}

/** Null for who has no access to a room that is there. */
async function permissionsOrNone(principal: Principal, room: RoomOfThreads): Promise<Permissions | null> {
  try {
    return await permissionsIn(principal, { roomId: room.id, findRoom: async () => room });
  } catch (error) {
    if (error instanceof AppError && error.status < 500) return null;
    throw error;
  }
}

/** For the rooms the events happened in; by the number of each, for it may have another id by now. */
async function hintsOf(events: readonly AppEvent[], tx: Sql): Promise<RoomHint[]> {
  const ofThreads = events.filter((event) => 'threadId' in event);
  const roomIds = await findRoomIds(tx, [...new Set(ofThreads.map(({ roomPk }) => roomPk))]);
  return ofThreads.flatMap((event) => {
    const roomId = roomIds.get(event.roomPk);
    if (roomId === undefined) return [];
    const command: Command = { type: 'comments.tell', visibility: event.visibility, message: messageOf(event) };
    return { roomId, command, atMs: Date.parse(event.at) };
  });
}

type CommentEvent = Extract<AppEvent, { threadId: string }>;

function messageOf(event: CommentEvent): CommentMessage {
  const { threadId } = event;
  switch (event.type) {
    case 'thread.resolved':
    case 'thread.unresolved':
      return { type: 'thread.updated', threadId };
    case 'comment.reaction-added':
    case 'comment.reaction-removed':
      return { type: event.type, threadId, commentId: event.commentId, emoji: event.emoji };
    case 'thread.created':
    case 'thread.deleted':
    case 'thread.metadata-updated':
      return { type: event.type, threadId };
    default:
      return { type: event.type, threadId, commentId: event.commentId };
  }
}
