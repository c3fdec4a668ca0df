/** What an inbox holds as all clients read it (contract, Inbox notification; supplement 1.7; protocol 7.3). */
import Type, { type Static, type TSchema } from 'typebox';

const time = Type.String({ format: 'date-time' });
const facts = {
  id: Type.String({ description: '`in_…`' }),
  notifiedAt: time,
  readAt: Type.Union([time, Type.Null()], { description: 'Null while unread.' }),
};

const ThreadNotification = Type.Object({
  kind: Type.Literal('thread'),
  ...facts,
  roomId: Type.String(),
  threadId: Type.String(),
  organizationId: Type.String(),
});

/** Who was mentioned in a text: a user, or a group with the users that the client took to be in it. */
export const Mention = Type.Object({
  kind: Type.Union([Type.Literal('user'), Type.Literal('group')]),
  id: Type.String(),
  userIds: Type.Optional(Type.Array(Type.String())),
});
export type Mention = Static<typeof Mention>;

const TextMentionNotification = Type.Object({
  kind: Type.Literal('textMention'),
  ...facts,
  roomId: Type.String(),
  mentionId: Type.String(),
  createdBy: Type.String(),
  mention: Mention,
});

/** Values of what back ends say of an activity. */
export const ActivityData = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]));
export type ActivityData = Static<typeof ActivityData>;
const Activity = Type.Object({ id: Type.String({ description: '`act_…`' }), createdAt: time, data: ActivityData });
export type Activity = Static<typeof Activity>;

export const CUSTOM_KIND_PATTERN = '^\\$[a-zA-Z_]{1,128}$';

const custom = {
  kind: Type.String({ pattern: CUSTOM_KIND_PATTERN }),
  ...facts,
  subjectId: Type.String(),
  roomId: Type.Union([Type.String(), Type.Null()]),
  activities: Type.Array(Activity, { description: 'Oldest first.' }),
};
const CustomNotification = Type.Object(custom);

export const InboxNotification = Type.Union([ThreadNotification, TextMentionNotification, CustomNotification]);
export type InboxNotification = Static<typeof InboxNotification>;

/** As the older listing has it: what the latest activity said stands beside them all. */
export const OlderInboxNotification = Type.Union([
  ThreadNotification,
  TextMentionNotification,
  Type.Object({ ...custom, activityData: ActivityData }),
]);
export type OlderInboxNotification = Static<typeof OlderInboxNotification>;

/** Of one thread, to back ends: with the user whose it is. */
export const NotificationOfThread = Type.Object({ ...ThreadNotification.properties, userId: Type.String() });

export const DeletedInboxNotification = Type.Object({
  type: Type.Literal('deletedInboxNotification'),
  id: Type.String(),
  roomId: Type.Optional(Type.String()),
  deletedAt: time,
});
export type DeletedInboxNotification = Static<typeof DeletedInboxNotification>;

/** A page of a list for back ends. */
export const pageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'For `startingAfter`; null on the last page.' }),
    data: Type.Array(item),
  });
