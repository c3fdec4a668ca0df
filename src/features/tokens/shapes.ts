/** Bodies of the token endpoints, and the claims inside a token (contract, Tokens; protocol 2.2; supplement 1.9). */
import Type from 'typebox';
import type { JsonObject } from '../../base/json.ts';
import { ROOM_ID_LIMITS } from '../../protocol/names.ts';
import { PERMISSION_STRINGS } from '../../protocol/permissions.ts';

const UserInfo = Type.Unsafe<JsonObject>(
  Type.Object({}, { description: 'Shown to other clients as `user.info`.', 'x-limits': { 'x-json-length-max': 1_024 } }),
);
const UserId = Type.String({ minLength: 1, maxLength: 128, description: 'Your id of the account.' });
const OrganizationId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Confines the token to this organisation; `default` when left out.',
});
const GroupIds = Type.Array(Type.String({ 'x-limits': { minLength: 1, maxLength: 256 } }), {
  description: 'Group IDs as in the `groupsAccesses` of rooms.',
  'x-limits': { maxItems: 100 },
});

const Scopes = Type.Array(Type.String({ 'x-limits': { enum: PERMISSION_STRINGS } }), { 'x-limits': { minItems: 1 } });

export const AuthorizeUserBody = Type.Object(
  {
    userId: UserId,
    permissions: Type.Record(Type.String(), Scopes, {
      description: 'A room ID, or a prefix with `*` at its end, and its permissions.',
      'x-limits': { maxProperties: 10, propertyNames: { pattern: '^(\\*|[^*]{1,128}\\*?)$' } },
    }),
    userInfo: Type.Optional(UserInfo),
    organizationId: Type.Optional(OrganizationId),
  },
  { additionalProperties: false },
);
export type AuthorizeUser = Type.Static<typeof AuthorizeUserBody>;

export const IdentifyUserBody = Type.Object(
  {
    userId: UserId,
    groupIds: Type.Optional(GroupIds),
    userInfo: Type.Optional(UserInfo),
    organizationId: Type.Optional(OrganizationId),
  },
  { additionalProperties: false },
);
export type IdentifyUser = Type.Static<typeof IdentifyUserBody>;

const inRoomFields = {
  userId: Type.Optional(UserId),
  groupIds: Type.Optional(GroupIds),
  userInfo: Type.Optional(UserInfo),
};
/** Nothing in it is required, so it may be left out. */
export const AuthorizeInRoomBody = Type.Object(inRoomFields, { additionalProperties: false, default: {} });
export type AuthorizeInRoom = Type.Static<typeof AuthorizeInRoomBody>;

/** With `room`, what the first SDKs asked for; without it, what the first REST API is used with. */
export const OlderAuthorizeBody = Type.Object(
  { room: Type.Optional(Type.String({ 'x-limits': ROOM_ID_LIMITS })), ...inRoomFields },
  { additionalProperties: false, default: {} },
);

export const PublicAuthorizeBody = Type.Object(
  { publicApiKey: Type.String({ description: 'The public key, `pk_…`.' }) },
  { additionalProperties: false },
);

export const RoomParams = Type.Object({ roomId: Type.String({ 'x-limits': ROOM_ID_LIMITS }) });

export const TokenReply = Type.Object({ token: Type.String({ description: 'A JWT.' }) });

const CommonClaims = {
  iss: Type.String(),
  aud: Type.String(),
  pid: Type.String(),
  oid: Type.String(),
  uid: Type.String(),
  ui: Type.Optional(Type.Unsafe<JsonObject>(Type.Object({}))),
  iat: Type.Integer(),
  exp: Type.Integer(),
  jti: Type.String(),
};
/**
 * `room` makes it a single-room token. To the SDK that is an access token like others: `perms` says what the room gave when it was issued. We
 * read the room anew at each entry, as for an ID token with the groups `gids`; one that the public key got opens public rooms only.
 */
const SingleRoom = Type.Object({
  id: Type.String(),
  gids: Type.Array(Type.String()),
  by: Type.Union([Type.Literal('secret'), Type.Literal('public')]),
});
const AccessClaims = Type.Object({
  k: Type.Literal('acc'),
  ...CommonClaims,
  perms: Type.Record(Type.String(), Type.Array(Type.String())),
  room: Type.Optional(SingleRoom),
});
const IdClaims = Type.Object({ k: Type.Literal('id'), ...CommonClaims, gids: Type.Array(Type.String()) });

/** Claims as the SDK reads them (`k`, `uid`, `ui`, `perms`, `iat`, `exp`) and as we do (`oid`, `gids`, `room`, `jti`); times in seconds. */
export const ClaimsShape = Type.Union([AccessClaims, IdClaims]);
export type SingleRoom = Type.Static<typeof SingleRoom>;
export type AccessClaims = Type.Static<typeof AccessClaims>;
export type IdClaims = Type.Static<typeof IdClaims>;
export type Claims = AccessClaims | IdClaims;
export type CommonClaims = Omit<IdClaims, 'k' | 'gids'>;

/** Of the JWT of the first REST API: who has the secret key, for an hour. */
export const BackEndClaimsShape = Type.Object({ iat: Type.Integer(), exp: Type.Integer(), jti: Type.String() });
