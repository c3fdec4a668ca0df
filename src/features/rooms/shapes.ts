/** Rooms as they go over the wire, and the bodies that make and change them (contract, Room; supplement 1.2). Sizes are checked in `rules.ts`. */
import Type, { type TSchema } from 'typebox';

const METADATA = 'Key (at most 40 characters) to string or array of strings (at most 256 characters each); at most 50 entries.';
const USERS = 'User ID to its permissions; at most 1,000 entries. `[]` is no access, whatever groups and default say.';
const GROUPS = 'Group ID to its permissions; at most 1,000 entries.';

const Text = (description: string) => Type.String({ description });
const Scopes = Type.Array(Type.String());
const DefaultAccesses = Type.Array(Type.String(), { description: 'Permissions of everyone; `[]` makes the room private.' });
const OrganizationId = Text('The organisation the room belongs to; `default` when left out.');
const MetadataValue = Type.Union([Type.String(), Type.Array(Type.String())]);

const mapOf = <Value extends TSchema>(value: Value, description: string) =>
  Type.Optional(Type.Record(Type.String(), value, { description }));
/** A map of changes: null removes a key, and in place of the map all of them. */
const changesOf = <Value extends TSchema>(value: Value, description: string) =>
  Type.Optional(
    Type.Union([Type.Record(Type.String(), Type.Union([value, Type.Null()])), Type.Null()], {
      description: `${description} A key set to null is removed; null itself removes all.`,
    }),
  );

export const RoomReply = Type.Object({
  type: Type.Literal('room'),
  id: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  lastConnectionAt: Type.Optional(Type.String({ format: 'date-time', description: 'Absent until somebody connected.' })),
  organizationId: Type.String(),
  metadata: Type.Record(Type.String(), MetadataValue),
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
  metadata: mapOf(MetadataValue, METADATA),
  usersAccesses: mapOf(Scopes, USERS),
  groupsAccesses: mapOf(Scopes, GROUPS),
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
    metadata: changesOf(MetadataValue, METADATA),
    usersAccesses: changesOf(Scopes, USERS),
    groupsAccesses: changesOf(Scopes, GROUPS),
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

export const RoomParams = Type.Object({ roomId: Text('The room ID, percent-encoded.') });

/** Parameters that are not named here, such as `metadata.KEY` of the older listing, are handed on. */
export const ListQuery = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    startingAfter: Type.Optional(Text('A `nextCursor` of the same list.')),
    organizationId: Type.Optional(Type.String()),
    query: Type.Optional(Text('Such as `roomId^"board:" AND metadata["stage"]:"draft"`.')),
    userId: Type.Optional(Text('Rooms whose `usersAccesses` let this user in, or …')),
    groupIds: Type.Optional(Text('… whose `groupsAccesses` let in one of these groups, separated by commas.')),
  },
  { additionalProperties: Type.String() },
);

export const CreateQuery = Type.Object({
  idempotent: Type.Optional(Type.Boolean({ description: 'Return the room that exists already, unchanged, in place of 409.' })),
});
