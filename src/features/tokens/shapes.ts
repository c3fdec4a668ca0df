/** Bodies of the token endpoints, and the claims inside a token (contract, Tokens; protocol 2.2; supplement 1.9). */
import Type from 'typebox';
import type { JsonObject } from '../../base/json.ts';

const UserInfo = Type.Unsafe<JsonObject>(
  Type.Object({}, { description: 'Shown to other clients as `user.info`; at most 1,024 characters as JSON.' }),
);
const UserId = Type.String({ minLength: 1, maxLength: 128, description: 'Your id of the account.' });
const OrganizationId = Type.String({
  minLength: 1,
  maxLength: 128,
  description: 'Confines the token to this organisation; `default` when left out.',
});

export const AuthorizeUserBody = Type.Object(
  {
    userId: UserId,
    permissions: Type.Record(Type.String(), Type.Array(Type.String()), {
      description: 'At most 10 entries: a room ID, or a prefix with `*` at its end, and its permissions.',
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
    groupIds: Type.Optional(Type.Array(Type.String(), { description: 'Group IDs as in the `groupsAccesses` of rooms.' })),
    userInfo: Type.Optional(UserInfo),
    organizationId: Type.Optional(OrganizationId),
  },
  { additionalProperties: false },
);
export type IdentifyUser = Type.Static<typeof IdentifyUserBody>;

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
const AccessClaims = Type.Object({
  k: Type.Literal('acc'),
  ...CommonClaims,
  perms: Type.Record(Type.String(), Type.Array(Type.String())),
});
const IdClaims = Type.Object({ k: Type.Literal('id'), ...CommonClaims, gids: Type.Array(Type.String()) });

/** Claims as the SDK reads them (`k`, `uid`, `ui`, `perms`, `iat`, `exp`) and as we do (`oid`, `gids`, `jti`); times in seconds. */
export const ClaimsShape = Type.Union([AccessClaims, IdClaims]);
export type AccessClaims = Type.Static<typeof AccessClaims>;
export type IdClaims = Type.Static<typeof IdClaims>;
export type Claims = AccessClaims | IdClaims;
export type CommonClaims = Omit<IdClaims, 'k' | 'gids'>;
