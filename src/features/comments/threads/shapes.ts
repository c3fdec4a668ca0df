/** Threads as they go over the wire, and the bodies that make and change them (contract, Thread; supplement 2.4). Sizes are checked in `rules.ts`. */
import Type, { type TSchema, type TUnsafe } from 'typebox';
import {
  COMMENT_ID_PATTERN,
  COMMENT_LIMITS,
  CommentBody,
  type CommentDocument,
  type CommentForClients,
  THREAD_ID_PATTERN,
  type ThreadDocument,
  type ThreadForClients,
} from '../../../protocol/comments.ts';
import { NAME_LENGTHS, ROOM_ID_LIMITS } from '../../../protocol/names.ts';

export const Time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) });
/** Of a back end, kept by `checkTime`. */
export const GivenTime = (description: string) =>
  Type.Optional(Type.String({ description: `${description} Now when left out.`, 'x-limits': { format: 'date-time' } }));
export const UserId = Type.String({ description: 'Of a user.', 'x-limits': { minLength: 1, maxLength: NAME_LENGTHS.userId } });

/** Kept by `metadataAfter`, which also counts what is there already. */
const METADATA_LIMITS = {
  'x-limits': {
    maxProperties: COMMENT_LIMITS.metadataEntriesMax,
    propertyNames: { minLength: 1, maxLength: COMMENT_LIMITS.metadataKeyLengthMax },
  },
};
const MetadataText = Type.String({ 'x-limits': { maxLength: COMMENT_LIMITS.metadataTextLengthMax } });
const METADATA_VALUES = [MetadataText, Type.Number(), Type.Boolean()] as const;
export const NewMetadata = Type.Record(Type.String(), Type.Union([...METADATA_VALUES]), METADATA_LIMITS);
/** null removes a key. */
export const MetadataChanges = Type.Record(Type.String(), Type.Union([...METADATA_VALUES, Type.Null()]), {
  description: 'A key set to null is removed.',
  ...METADATA_LIMITS,
});
export const Metadata = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]));

const Visibility = Type.Union([Type.Literal('public'), Type.Literal('private')]);
const Resolved = Type.Boolean();

export const AttachmentIds = Type.Array(Type.String({ description: '`at_…`, of a draft of the same user.' }), {
  maxItems: COMMENT_LIMITS.attachmentsMax,
});

const Attachment = Type.Object({
  type: Type.Literal('attachment'),
  id: Type.String(),
  name: Type.String(),
  size: Type.Integer(),
  mimeType: Type.String(),
});
export const ReactionReply = Type.Object({ emoji: Type.String(), createdAt: Time(), userId: Type.String() });
const GroupedReaction = Type.Object({
  emoji: Type.String(),
  createdAt: Time(),
  users: Type.Array(Type.Object({ id: Type.String() })),
});

const commentWith = <Reaction extends TSchema>(reaction: Reaction) =>
  Type.Object({
    type: Type.Literal('comment'),
    id: Type.String({ description: '`cm_…`' }),
    threadId: Type.String(),
    roomId: Type.String(),
    userId: Type.String({ description: 'Its author.' }),
    createdAt: Time(),
    editedAt: Type.Optional(Time()),
    deletedAt: Type.Optional(Time('Then there is no body.')),
    body: Type.Optional(CommentBody),
    metadata: Metadata,
    reactions: Type.Array(reaction),
    attachments: Type.Array(Attachment),
  });
/** A schema of what the protocol names: its documents are readonly, a schema's type is not. */
const replyAs = <Document>(schema: TSchema): TUnsafe<Document> => schema as TUnsafe<Document>;
export const CommentReply = replyAs<CommentDocument>(commentWith(ReactionReply));
/** Reactions are gathered by emoji, as the SDK reads them (protocol 7.3). */
export const CommentForClientsReply = replyAs<CommentForClients>(commentWith(GroupedReaction));

const threadWith = <Comment extends TSchema>(comment: Comment) =>
  Type.Object({
    type: Type.Literal('thread'),
    id: Type.String({ description: '`th_…`' }),
    roomId: Type.String(),
    comments: Type.Array(comment, { description: 'Oldest first.' }),
    createdAt: Time(),
    updatedAt: Time('Rises with every change of the thread and its comments.'),
    metadata: Metadata,
    resolved: Resolved,
    visibility: Visibility,
  });
export const ThreadReply = replyAs<ThreadDocument>(threadWith(CommentReply));
export const ThreadForClientsReply = replyAs<ThreadForClients>(threadWith(CommentForClientsReply));

export const ThreadList = Type.Object({ data: Type.Array(ThreadReply) });
export const Participants = Type.Object({ participantIds: Type.Array(Type.String()) });

export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
export const ThreadParams = Type.Object({
  roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }),
  threadId: Type.String({ description: '`th_…`' }),
});
export const CommentParams = Type.Object({
  roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }),
  threadId: Type.String({ description: '`th_…`' }),
  commentId: Type.String({ description: '`cm_…`' }),
});

export const QueryText = Type.Optional(
  Type.String({ description: 'Such as `metadata["status"]:"open" AND resolved:false AND visibility:"public"`.' }),
);
export const ListQuery = Type.Object({ query: QueryText });

const closed = { additionalProperties: false } as const;

/** What a comment is made from; `commentFields` of a back end and of a client differ in who names author, time and id. */
const commentFields = {
  body: CommentBody,
  metadata: Type.Optional(NewMetadata),
  attachmentIds: Type.Optional(AttachmentIds),
};
export const NewCommentBody = Type.Object(
  { userId: UserId, ...commentFields, createdAt: GivenTime('When it was written.') },
  closed,
);
export const NewCommentForClients = Type.Object(
  { id: Type.String({ pattern: COMMENT_ID_PATTERN, description: 'Made by the client.' }), ...commentFields },
  closed,
);
export const NewThreadBody = Type.Object(
  {
    comment: NewCommentBody,
    metadata: Type.Optional(NewMetadata),
    visibility: Type.Optional(Visibility),
  },
  closed,
);
export const NewThreadForClients = Type.Object(
  {
    id: Type.String({ pattern: THREAD_ID_PATTERN, description: 'Made by the client.' }),
    comment: NewCommentForClients,
    metadata: Type.Optional(NewMetadata),
    visibility: Type.Optional(Visibility),
  },
  closed,
);

export const UserBody = Type.Object({ userId: UserId }, closed);
/** `createdAt` is the name that the contract's example gives `updatedAt`. */
export const ThreadMetadataBody = Type.Object({
  metadata: MetadataChanges,
  userId: UserId,
  updatedAt: GivenTime('When it was changed.'),
  createdAt: Type.Optional(Type.String({ description: 'Another name of `updatedAt`.', 'x-limits': { format: 'date-time' } })),
});
