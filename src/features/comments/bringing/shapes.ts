/** A thread as another server shows it (contract, Thread), to be kept here as it is. Sizes are checked in `rules.ts`. */
import Type, { type Static } from 'typebox';
import { COMMENT_ID_PATTERN, CommentBody } from '../../../protocol/comments.ts';
import { NewMetadata, UserId } from '../threads/shapes.ts';

const Time = Type.String({ 'x-limits': { format: 'date-time' } });

const BroughtReaction = Type.Object({ emoji: Type.String(), userId: UserId, createdAt: Time });
/** What is brought of it: attachments are not, nor is what the path says. */
const BroughtComment = Type.Object({
  id: Type.String({ pattern: COMMENT_ID_PATTERN }),
  userId: UserId,
  createdAt: Time,
  editedAt: Type.Optional(Time),
  deletedAt: Type.Optional(Type.String({ 'x-limits': { format: 'date-time' }, description: 'Then it has no body.' })),
  body: Type.Optional(CommentBody),
  metadata: Type.Optional(NewMetadata),
  reactions: Type.Optional(Type.Array(BroughtReaction)),
});
export type BroughtComment = Static<typeof BroughtComment>;

export const BroughtThread = Type.Object({
  createdAt: Time,
  updatedAt: Type.Optional(Time),
  metadata: Type.Optional(NewMetadata),
  resolved: Type.Optional(Type.Boolean()),
  visibility: Type.Optional(Type.Union([Type.Literal('public'), Type.Literal('private')])),
  comments: Type.Array(BroughtComment, { minItems: 1 }),
});
export type BroughtThread = Static<typeof BroughtThread>;
