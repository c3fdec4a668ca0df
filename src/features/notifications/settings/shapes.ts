/** What users want to hear of, as it goes over the wire: in a room (contract, Room notification settings), and by which channels (supplement 2.6). */
import Type, { type Static } from 'typebox';
import { CUSTOM_KIND_PATTERN, pageOf } from '../../../protocol/inbox.ts';
import { NAME_LENGTHS, ROOM_ID_LIMITS } from '../../../protocol/names.ts';

const Threads = Type.Union([Type.Literal('all'), Type.Literal('replies_and_mentions'), Type.Literal('none')]);
const TextMentions = Type.Union([Type.Literal('mine'), Type.Literal('none')]);

export const RoomSettings = Type.Object({ threads: Threads, textMentions: TextMentions });
export type RoomSettings = Static<typeof RoomSettings>;
export const RoomSettingsBody = Type.Object(
  { threads: Type.Optional(Threads), textMentions: Type.Optional(TextMentions) },
  { additionalProperties: false },
);
export type RoomSettingsChange = Static<typeof RoomSettingsBody>;
export const RoomSettingsPage = pageOf(Type.Object({ roomId: Type.String(), ...RoomSettings.properties }));

/** Kinds of notifications → whether this channel tells of them. */
const Kinds = Type.Object(
  { thread: Type.Optional(Type.Boolean()), textMention: Type.Optional(Type.Boolean()) },
  {
    additionalProperties: Type.Boolean(),
    propertyNames: { pattern: `^thread$|^textMention$|${CUSTOM_KIND_PATTERN}` },
    description: '`thread`, `textMention` and the kinds of your own, which begin with `$`.',
  },
);
export type Kinds = Readonly<Record<string, boolean>>;
export const CHANNELS = ['email', 'slack', 'teams', 'webPush'] as const;
export type Channel = (typeof CHANNELS)[number];

export const ChannelSettings = Type.Object({ email: Kinds, slack: Kinds, teams: Kinds, webPush: Kinds });
export const ChannelSettingsBody = Type.Object(
  { email: Type.Optional(Kinds), slack: Type.Optional(Kinds), teams: Type.Optional(Kinds), webPush: Type.Optional(Kinds) },
  { additionalProperties: false },
);
export type ChannelSettings = Readonly<Record<Channel, Kinds>>;
export type ChannelSettingsChange = Readonly<Partial<Record<Channel, Kinds>>>;

const named = (lengthMax: number) => ({ 'x-limits': { minLength: 1, maxLength: lengthMax } });
export const UserParams = Type.Object({ userId: Type.String(named(NAME_LENGTHS.userId)) });
export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });
export const UserInRoomParams = Type.Object({ ...RoomParams.properties, ...UserParams.properties });
export const ListQuery = Type.Object({
  organizationId: Type.Optional(Type.String({ description: 'Only rooms of this organisation.' })),
  limit: Type.Integer({ minimum: 1, maximum: 50, default: 50 }),
  startingAfter: Type.Optional(Type.String({ description: 'A `nextCursor` of the same list.' })),
});
