/** What only the SDK's changes of comments take and give (protocol 7.2). */
import Type from 'typebox';
import { CommentParams } from '../threads/shapes.ts';

export const ReactionParams = Type.Object({ ...CommentParams.properties, emoji: Type.String() });

/** The SDK reads an object where it expects nothing. */
export const Done = Type.Object({});
