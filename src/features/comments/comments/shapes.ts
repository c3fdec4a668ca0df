/** The bodies that change comments and react to them (supplement 2.4). Sizes are checked in `rules.ts`. */
import Type from 'typebox';
import { CommentBody } from '../../../protocol/comments.ts';
import { AttachmentIds, GivenTime, MetadataChanges, UserId } from '../threads/shapes.ts';
import { BODY_LIMITS } from './rules.ts';

const closed = { additionalProperties: false } as const;
const editFields = {
  body: CommentBody,
  metadata: Type.Optional(MetadataChanges),
  attachmentIds: Type.Optional(AttachmentIds),
};
const Emoji = Type.String({ 'x-limits': { minLength: 1, maxLength: BODY_LIMITS.emojiLengthMax } });

/** `attachmentIds` replaces all; what is left out stays. */
export const EditCommentBody = Type.Object({ ...editFields, editedAt: GivenTime('When it was edited.') }, closed);
export const EditCommentForClients = Type.Object(editFields, closed);

export const CommentMetadataBody = Type.Object(
  { metadata: MetadataChanges, userId: UserId, updatedAt: GivenTime('When it was changed.') },
  closed,
);
export const AddReactionBody = Type.Object({ userId: UserId, emoji: Emoji, createdAt: GivenTime('When it was given.') }, closed);
export const RemoveReactionBody = Type.Object(
  { userId: UserId, emoji: Emoji, removedAt: GivenTime('When it was taken back.') },
  closed,
);
export const ReactionForClients = Type.Object({ emoji: Emoji }, closed);
