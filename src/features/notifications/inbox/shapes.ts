/** Requests and answers about inboxes, to back ends (supplement 2.6) and to clients (protocol 7.2). What a notification is stands in `protocol/inbox.ts`. */
import Type, { type Static } from 'typebox';
import {
  ActivityData,
  CUSTOM_KIND_PATTERN,
  DeletedInboxNotification,
  InboxNotification,
  NotificationOfThread,
  pageOf,
} from '../../../protocol/inbox.ts';
import { NAME_LENGTHS, ROOM_ID_LIMITS } from '../../../protocol/names.ts';
import { GroupForClients } from '../groups/shapes.ts';
import { TRIGGER_LIMITS } from './rules.ts';

const named = (lengthMax: number) => ({ 'x-limits': { minLength: 1, maxLength: lengthMax } });

export const UserParams = Type.Object({ userId: Type.String(named(NAME_LENGTHS.userId)) });
export const NotificationParams = Type.Object({ inboxNotificationId: Type.String({ description: '`in_…`' }) });
export const NotificationOfUserParams = Type.Object({ ...UserParams.properties, ...NotificationParams.properties });
export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
export const ThreadParams = Type.Object({ ...RoomParams.properties, threadId: Type.String({ description: '`th_…`' }) });

export const OrganizationQuery = Type.Object({
  organizationId: Type.Optional(Type.String({ description: 'Only of this organisation.' })),
});
export const ListQuery = Type.Object({
  ...OrganizationQuery.properties,
  query: Type.Optional(Type.String({ description: '`unread:true`' })),
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 50 }),
  startingAfter: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
});
export const NotificationPage = pageOf(InboxNotification);

export const OfThreadReply = Type.Object({ data: Type.Array(NotificationOfThread) });

export const TriggerBody = Type.Object({
  userId: Type.String(named(NAME_LENGTHS.userId)),
  kind: Type.String({ pattern: CUSTOM_KIND_PATTERN }),
  subjectId: Type.String(named(TRIGGER_LIMITS.subjectIdLengthMax)),
  activityData: ActivityData,
  roomId: Type.Optional(Type.String({ 'x-limits': ROOM_ID_LIMITS })),
  organizationId: Type.Optional(Type.String(named(NAME_LENGTHS.organizationId))),
});
export type Trigger = Static<typeof TriggerBody>;

/** `roomId`, `kind` and `unread` of the query language (protocol 7.1). */
const clientQuery = { query: Type.Optional(Type.String({ description: "`roomId:'…' kind:'thread' unread:true`" })) };
export const CountQuery = Type.Object(clientQuery);
export const ClientListQuery = Type.Object({
  ...clientQuery,
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 50 }),
  cursor: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
});
export const DeltaQuery = Type.Object({
  ...clientQuery,
  since: Type.String({ description: 'A `requestedAt` of the list, or any time in ISO 8601.' }),
});

const time = Type.String({ format: 'date-time' });
const Documents = Type.Array(Type.Unsafe<object>(Type.Object({})));
const listed = {
  inboxNotifications: Type.Array(InboxNotification),
  threads: Documents,
  subscriptions: Documents,
};
export const ClientList = Type.Object({
  ...listed,
  groups: Type.Array(GroupForClients),
  meta: Type.Object({ requestedAt: time, nextCursor: Type.Union([Type.String(), Type.Null()]) }),
});
export const ClientDelta = Type.Object({
  ...listed,
  deletedThreads: Documents,
  deletedInboxNotifications: Type.Array(DeletedInboxNotification),
  deletedSubscriptions: Documents,
  meta: Type.Object({ requestedAt: time }),
});
export const CountReply = Type.Object({ count: Type.Integer() });

const Ids = Type.Array(Type.String(), { maxItems: 1_000 });
export const ReadInRoomBody = Type.Object({ inboxNotificationIds: Ids }, { additionalProperties: false });
export const ReadBody = Type.Object(
  { inboxNotificationIds: Type.Union([Type.Literal('all'), Ids]) },
  { additionalProperties: false },
);
/** What the SDK reads of an answer that says nothing. */
export const Nothing = Type.Object({});
