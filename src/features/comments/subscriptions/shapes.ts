/** Subscriptions to threads as they go over the wire (supplement 1.7). */
import Type from 'typebox';
import { Time } from '../threads/shapes.ts';

const fields = {
  kind: Type.Literal('thread'),
  subjectId: Type.String({ description: 'Of the thread.' }),
  createdAt: Time(),
};
export const SubscriptionReply = Type.Object(fields);
export const SubscriptionList = Type.Object({ data: Type.Array(Type.Object({ ...fields, userId: Type.String() })) });
