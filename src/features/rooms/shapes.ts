/**
 * Rooms as they go over the wire, and the bodies that make and change them (contract, Room; supplement 1.2).
 *
 * Maps keyed by the client (metadata, accesses) are only known to be objects here; `rules.ts` checks what is in them, because a
 * schema's message about an alternative ("must match one of") helps nobody.
 */
import Type from 'typebox';

const METADATA = 'Key (at most 40 characters) to string or array of strings (at most 256 characters each); at most 50 entries.';
const USERS = 'User ID to its permissions; at most 1,000 entries. `[]` is no access, whatever groups and default say.';
const GROUPS = 'Group ID to its permissions; at most 1,000 entries.';
const REMOVES = ' A key set to null is removed; null itself removes all.';

const Text = (description: string) => Type.String({ description });
const Scopes = Type.Array(Type.String());
const DefaultAccesses = Type.Array(Type.String(), { description: 'Permissions of everyone; `[]` makes the room private.' });
const OrganizationId = Text('The organisation the room belongs to; `default` when left out.');
/** An object whose keys are the client's. */
const Map = (description: string) => Type.Unsafe<Readonly<Record<string, unknown>>>(Type.Object({}, { description }));

export const RoomReply = Type.Object({
  type: Type.Literal('room'),
  id: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  lastConnectionAt: Type.Optional(Type.String({ format: 'date-time', description: 'Absent until somebody connected.' })),
  organizationId: Type.String(),
  metadata: Type.Record(Type.String(), Type.Union([Type.String(), Type.Array(Type.String())])),
  defaultAccesses: Scopes,
  usersAccesses: Type.Record(Type.String(), Scopes),
  groupsAccesses: Type.Record(Type.String(), Scopes),
});
export type Room = Type.Static<typeof RoomReply>;

export const RoomPage = Type.Object({
  nextCursor: Type.Union([Type.String(), Type.Null()], { description: 'For `startingAfter`; null on the last page.' }),
  data: Type.Array(RoomReply),
});

const creationFields = {
  defaultAccesses: DefaultAccesses,
  organizationId: Type.Optional(OrganizationId),
  metadata: Type.Optional(Map(METADATA)),
  usersAccesses: Type.Optional(Map(USERS)),
  groupsAccesses: Type.Optional(Map(GROUPS)),
};

export const CreateRoomBody = Type.Object(
  {
    id: Text('1 to 128 characters; no control characters, no asterisk.'),
    ...creationFields,
    engine: Type.Optional(
      Type.Union([Type.Literal(1), Type.Literal(2)], { description: 'Accepted and without effect: there is one engine.' }),
    ),
  },
  { additionalProperties: false },
);

export const UpdateRoomBody = Type.Object(
  {
    defaultAccesses: Type.Optional(Type.Union([DefaultAccesses, Type.Null()])),
    metadata: Type.Optional(Type.Union([Map(METADATA + REMOVES), Type.Null()])),
    usersAccesses: Type.Optional(Type.Union([Map(USERS + REMOVES), Type.Null()])),
    groupsAccesses: Type.Optional(Type.Union([Map(GROUPS + REMOVES), Type.Null()])),
  },
  { additionalProperties: false },
);
export type RoomUpdate = Type.Static<typeof UpdateRoomBody>;

export const UpsertRoomBody = Type.Object(
  {
    update: UpdateRoomBody,
    create: Type.Optional(
      Type.Object(creationFields, { additionalProperties: false, description: 'What only a new room gets.' }),
    ),
  },
  { additionalProperties: false },
);
export type RoomUpsert = Type.Static<typeof UpsertRoomBody>;
/** What a new room may be given besides its id. */
export type RoomCreation = NonNullable<RoomUpsert['create']>;

export const UpdateRoomIdBody = Type.Object({ newRoomId: Text('As the `id` of a new room.') }, { additionalProperties: false });

export const UpdateOrganizationBody = Type.Object(
  { fromOrganizationId: Text('Must be the present one.'), toOrganizationId: OrganizationId },
  { additionalProperties: false },
);

/** What of a room its owner may change. */
export interface RoomFields {
  readonly metadata: Readonly<Record<string, string | string[]>>;
  readonly defaultAccesses: string[];
  readonly usersAccesses: Readonly<Record<string, string[]>>;
  readonly groupsAccesses: Readonly<Record<string, string[]>>;
}
