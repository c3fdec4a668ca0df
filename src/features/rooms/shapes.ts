/** Rooms as they go over the wire, and the bodies that make and change them (contract, Room; supplement 1.2). Sizes are checked in `rules.ts`. */
import Type, { type TSchema } from 'typebox';
import { NAME_LENGTHS, ROOM_ID_LIMITS } from '../../protocol/names.ts';
import { PERMISSION_STRINGS } from '../../protocol/permissions.ts';

const METADATA = 'Key to string or array of strings.';
const USERS = 'User ID to its permissions. `[]` is no access, whatever groups and default say.';
const GROUPS = 'Group ID to its permissions.';

/** `x-limits` are kept by `rules.ts`, where they also count what a room has already. */
const METADATA_LIMITS = { 'x-limits': { maxProperties: 50, propertyNames: { minLength: 1, maxLength: 40 } } };
const ACCESSES_LIMITS = { 'x-limits': { maxProperties: 1_000, propertyNames: { minLength: 1, maxLength: 256 } } };

const Text = (description: string) => Type.String({ description });
const RoomId = (description: string) => Type.String({ description, 'x-limits': ROOM_ID_LIMITS });
const Scopes = Type.Array(Type.String({ 'x-limits': { enum: PERMISSION_STRINGS } }), { 'x-limits': { uniqueItems: true } });
const DefaultAccesses = Type.Array(Type.String({ 'x-limits': { enum: PERMISSION_STRINGS } }), {
  description: 'Permissions of everyone; `[]` makes the room private.',
  'x-limits': { uniqueItems: true },
});
const OrganizationId = (description: string) =>
  Type.String({ description, 'x-limits': { minLength: 1, maxLength: NAME_LENGTHS.organizationId } });
const MetadataText = Type.String({ 'x-limits': { maxLength: 256 } });
const MetadataValue = Type.Union([MetadataText, Type.Array(MetadataText, { 'x-limits': { maxItems: 100 } })]);

type MapFacts = { readonly description: string; readonly 'x-limits': object };
const mapOf = <Value extends TSchema>(value: Value, facts: MapFacts) => Type.Optional(Type.Record(Type.String(), value, facts));
/** A map of changes: null removes a key, and in place of the map all of them. */
const changesOf = <Value extends TSchema>(value: Value, { description, ...limits }: MapFacts) =>
  Type.Optional(
    Type.Union([Type.Record(Type.String(), Type.Union([value, Type.Null()]), limits), Type.Null()], {
      description: `${description} A key set to null is removed; null itself removes all.`,
    }),
  );
const metadata = { description: METADATA, ...METADATA_LIMITS };
const users = { description: USERS, ...ACCESSES_LIMITS };
const groups = { description: GROUPS, ...ACCESSES_LIMITS };

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
  nextPage: Type.Optional(Text('The same as a path, for older clients; absent on the last page.')),
  data: Type.Array(RoomReply),
});

const creationFields = {
  defaultAccesses: DefaultAccesses,
  organizationId: Type.Optional(OrganizationId('The organisation the room belongs to; `default` when left out.')),
  metadata: mapOf(MetadataValue, metadata),
  usersAccesses: mapOf(Scopes, users),
  groupsAccesses: mapOf(Scopes, groups),
};

export const CreateRoomBody = Type.Object(
  {
    id: RoomId('No control characters, no asterisk.'),
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
    metadata: changesOf(MetadataValue, metadata),
    usersAccesses: changesOf(Scopes, users),
    groupsAccesses: changesOf(Scopes, groups),
  },
  { additionalProperties: false },
);
export type RoomUpdate = Type.Static<typeof UpdateRoomBody>;

export const UpsertRoomBody = Type.Object(
  {
    update: UpdateRoomBody,
    create: Type.Optional(
      Type.Object(
        { ...creationFields, tenantId: Type.Optional(OrganizationId('The older name of `organizationId`.')) },
        { additionalProperties: false, description: 'What only a new room gets.' },
      ),
    ),
  },
  { additionalProperties: false },
);
export type RoomUpsert = Type.Static<typeof UpsertRoomBody>;
/** What a new room may be given besides its id. */
export type RoomCreation = NonNullable<RoomUpsert['create']>;

export const UpdateRoomIdBody = Type.Object({ newRoomId: RoomId('As the `id` of a new room.') }, { additionalProperties: false });

export const UpdateOrganizationBody = Type.Object(
  { fromOrganizationId: OrganizationId('Must be the present one.'), toOrganizationId: OrganizationId('The one it moves to.') },
  { additionalProperties: false },
);

/** What of a room its owner may change. */
export interface RoomFields {
  readonly metadata: Readonly<Record<string, string | string[]>>;
  readonly defaultAccesses: string[];
  readonly usersAccesses: Readonly<Record<string, string[]>>;
  readonly groupsAccesses: Readonly<Record<string, string[]>>;
}

export const RoomParams = Type.Object({ roomId: RoomId('The room ID, percent-encoded.') });

/** Parameters that are not named here are handed on, for `metadata.KEY` of the older listing; `rules.ts` refuses all others. */
export const ListQuery = Type.Object(
  {
    limit: Type.Integer({ minimum: 1, maximum: 100, default: 20 }),
    startingAfter: Type.Optional(Text('A `nextCursor` of the same list.')),
    organizationId: Type.Optional(Type.String()),
    tenantId: Type.Optional(Text('The older name of `organizationId`.')),
    query: Type.Optional(Text('Such as `roomId^"board:" AND metadata["stage"]:"draft"`.')),
    userId: Type.Optional(Text('Rooms whose `usersAccesses` let this user in, or …')),
    groupIds: Type.Optional(Text('… whose `groupsAccesses` let in one of these groups, separated by commas.')),
  },
  { additionalProperties: Type.String() },
);

export const CreateQuery = Type.Object({
  idempotent: Type.Optional(Type.Boolean({ description: 'Return the room that exists already, unchanged, in place of 409.' })),
});
