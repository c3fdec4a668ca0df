/** What editors of texts tell the server (protocol 7.2). */
import Type, { type Static } from 'typebox';
import { NAME_LENGTHS, ROOM_ID_LIMITS } from '../../../protocol/names.ts';
import { MENTION_LIMITS } from './rules.ts';

const named = (lengthMax: number) => ({ 'x-limits': { minLength: 1, maxLength: lengthMax } });
const mentionId = Type.String(named(MENTION_LIMITS.idLengthMax));

export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
export const MentionParams = Type.Object({ ...RoomParams.properties, mentionId });

export const MentionBody = Type.Object(
  {
    mentionId,
    userId: Type.Optional(Type.String(named(NAME_LENGTHS.userId))),
    groupId: Type.Optional(Type.String({ ...named(NAME_LENGTHS.groupId), description: 'In place of `userId`.' })),
    userIds: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: MENTION_LIMITS.userIdsMax,
        description: 'Whom the client takes to be in the group.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type MentionBody = Static<typeof MentionBody>;

const EDITORS = ['lexical', 'tiptap', 'blocknote'] as const;
export const EditorBody = Type.Object({
  type: Type.Union(EDITORS.map((editor) => Type.Literal(editor))),
  rootKey: Type.String({ maxLength: MENTION_LIMITS.idLengthMax }),
});

export const UrlQuery = Type.Object({ url: Type.String({ maxLength: 2_048 }) });
export const UrlReply = Type.Object({ metadata: Type.Object({}) });
/** What the SDK reads of an answer that says nothing. */
export const Nothing = Type.Object({});
