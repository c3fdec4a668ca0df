/** What the SDK in a browser reads of threads (protocol 7.2). */
import Type from 'typebox';
import { DeletedInboxNotification, InboxNotification } from '../../../protocol/inbox.ts';
import { SubscriptionReply } from '../subscriptions/shapes.ts';
import { ThreadForClientsReply, Time } from '../threads/shapes.ts';

const DeletedThread = Type.Object({
  type: Type.Literal('deletedThread'),
  id: Type.String(),
  roomId: Type.String(),
  deletedAt: Time(),
});
const DeletedSubscription = Type.Object({
  type: Type.Literal('deletedSubscription'),
  kind: Type.Literal('thread'),
  subjectId: Type.String(),
  deletedAt: Time(),
});

const requestedAt = Time('For `since`.');
const permissionHints = Type.Record(Type.String(), Type.Array(Type.String()), {
  description: 'Room ID to what the user may do there.',
});
const nextCursor = Type.Union([Type.String(), Type.Null()], { description: 'For `cursor`; null on the last page.' });

const ofTheUser = { inboxNotifications: Type.Array(InboxNotification), subscriptions: Type.Array(SubscriptionReply) };
const page = { ...ofTheUser, meta: Type.Object({ requestedAt, nextCursor, permissionHints }) };
const changes = {
  ...ofTheUser,
  deletedThreads: Type.Array(DeletedThread),
  deletedInboxNotifications: Type.Array(DeletedInboxNotification),
  deletedSubscriptions: Type.Array(DeletedSubscription),
  meta: Type.Object({ requestedAt, permissionHints }),
};
const threads = Type.Array(ThreadForClientsReply);

export const ThreadPage = Type.Object({ data: threads, ...page });
export const ThreadChanges = Type.Object({ data: threads, ...changes });
export const UserThreadPage = Type.Object({ threads, ...page });
export const UserThreadChanges = Type.Object({ threads, ...changes });

export const ThreadWithNotification = Type.Object({
  thread: ThreadForClientsReply,
  inboxNotification: Type.Optional(InboxNotification),
  subscription: Type.Optional(SubscriptionReply),
});

export const FoundComments = Type.Object({
  data: Type.Array(Type.Object({ threadId: Type.String(), commentId: Type.String(), content: Type.String() })),
});

const QueryText = Type.Optional(Type.String({ description: "Such as `resolved:false metadata['status']:'open'`." }));
export const PageQuery = Type.Object({
  limit: Type.Integer({ minimum: 1, maximum: 100, default: 50 }),
  cursor: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
  query: QueryText,
});
export const SinceQuery = Type.Object({
  since: Type.String({ description: 'A `requestedAt` of the list, or any time in ISO 8601.' }),
});
export const SearchQuery = Type.Object({
  text: Type.String({ maxLength: 256, description: 'Up to 16 words that a comment must all have, in any order.' }),
  query: Type.Optional(Type.String({ description: "Such as `threadResolved:false hasMentions:true threadMetadata['k']:1`." })),
});
