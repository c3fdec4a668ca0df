/**
 * What goes into a token, and what a client may do in a room by the credential it shows.
 *
 * Pure: it knows neither keys nor signatures (`queries.ts`), nor where rooms are stored.
 */
import { AppError, valueAtKey } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import { isStorableJson } from '../../base/text.ts';
import { checkName, DEFAULT_ORGANIZATION, NAME_LENGTHS } from '../../protocol/names.ts';
import {
  allows,
  checkScopes,
  type Permissions,
  permissionsFromRoom,
  permissionsFromToken,
  type RoomAccesses,
  readingComments,
  scopesOf,
} from '../../protocol/permissions.ts';
import type {
  AccessClaims,
  AuthorizeInRoom,
  AuthorizeUser,
  Claims,
  CommonClaims,
  IdClaims,
  IdentifyUser,
  SingleRoom,
} from './shapes.ts';

/** Bounds of what a token carries; it travels in the URL of a socket, so its sum is bounded too (supplement 1.1 row 8, 1.9). */
export const TOKEN_LIMITS = {
  userInfoLengthMax: 1_024, // serialised
  permissionsMax: 10,
  groupIdsMax: 100,
  claimsLengthMax: 11_264, // base64 makes it 15 KiB, which still fits the 16 KiB that a request's header may have
} as const;

/** What tokens name as project, issuer and audience: they are ours, for us. */
export const ISSUER = 'atrium';

/** A whole prefix, at most one asterisk, and that last (supplement 1.1 row 7; the SDK's own pattern, protocol 2.1). */
const ROOM_PATTERN = /^(?:\*|[^*]{1,128}\*?)$/;

export interface Issue {
  readonly nowMs: number;
  readonly lifetimeMs: number;
  /** Makes the token unique: a client that gets the same text twice gives up (protocol 2.3). */
  readonly tokenId: string;
}

/** The claims of an access token: all permissions are in it. @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export function accessClaimsFor(request: AuthorizeUser, issue: Issue): AccessClaims {
  const patterns = Object.entries(request.permissions);
  if (patterns.length > TOKEN_LIMITS.permissionsMax)
    throw valueAtKey('permissions', `may have at most ${TOKEN_LIMITS.permissionsMax} entries`);
  const perms: Record<string, string[]> = {};
  for (const [pattern, scopes] of patterns) {
    const key = `permissions.${pattern}`;
    if (!ROOM_PATTERN.test(pattern))
      throw valueAtKey(key, 'must be a room ID, or a prefix with an asterisk at its end and nowhere else');
    checkName(pattern, key, NAME_LENGTHS.roomId + 1);
    perms[pattern] = checkScopes(scopes, key, 'union');
  }
  return bounded({ k: 'acc', ...commonClaims(request, issue), perms }, 'permissions');
}

/** The claims of an ID token: who it is; the room's accesses say the rest at entry. @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export function idClaimsFor(request: IdentifyUser, issue: Issue): IdClaims {
  const gids = checkGroupIds(request.groupIds);
  return bounded({ k: 'id', ...commonClaims(request, issue), gids }, 'groupIds');
}

/** A user that asked for no name gets one that nobody else has. */
export interface RoomIssue extends Issue {
  readonly anonymousId: string;
}

/** Who a single-room token is for: a user named by the back end, or whoever has the public key. */
export type RoomGuest = { readonly by: 'secret'; readonly request: AuthorizeInRoom } | { readonly by: 'public' };

/** Refuses what no token could say, before anybody looks for the room. @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export function checkGuest(guest: RoomGuest): void {
  if (guest.by === 'public') return;
  checkIdentity(guest.request);
  checkGroupIds(guest.request.groupIds);
}

/**
 * The claims of a single-room token (contract, Authentication 5 and 6). Who has no name gets what the room gives to everyone.
 * @throws AppError UNPROCESSABLE_ENTITY naming the key, or UNAUTHORIZED_ROOM_ACCESS when the room lets this user not in.
 */
export function roomClaimsFor(guest: RoomGuest, room: RoomForEntry & { readonly id: string }, issue: RoomIssue): AccessClaims {
  const { userId, groupIds, userInfo } = guest.by === 'secret' ? guest.request : {};
  const groups = checkGroupIds(groupIds);
  const gids = userId === undefined ? [] : groups;
  const identity = {
    userId: userId ?? issue.anonymousId,
    organizationId: room.organizationId,
    ...(userInfo !== undefined && { userInfo }),
  };
  const claims = { k: 'acc' as const, ...commonClaims(identity, issue), room: { id: room.id, gids, by: guest.by } };
  const permissions = permissionsFromRoom(room.accesses, { userId: claims.uid, groupIds: gids });
  if (!allows(permissions, 'room', neededBy(claims.room))) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { roomId: room.id });
  return bounded({ ...claims, perms: { [room.id]: scopesOf(permissions) } }, 'groupIds');
}

function checkGroupIds(groupIds: readonly string[] = []): string[] {
  if (groupIds.length > TOKEN_LIMITS.groupIdsMax)
    throw valueAtKey('groupIds', `may have at most ${TOKEN_LIMITS.groupIdsMax} entries`);
  for (const [index, groupId] of groupIds.entries()) checkName(groupId, `groupIds.${index}`, NAME_LENGTHS.groupId);
  return [...groupIds];
}

/** What a client shows when it opens a socket or calls a client route. */
export type Credential = { readonly kind: 'token'; readonly claims: Claims } | { readonly kind: 'public key' };

export interface RoomForEntry {
  readonly organizationId: string;
  readonly accesses: RoomAccesses;
}

/** How a client enters: `createIn` names the organisation in which its room is to be made first, null when it exists. */
export interface Entry {
  readonly userId: string | null;
  readonly info: JsonObject | null;
  readonly permissions: Permissions;
  readonly createIn: string | null;
}

/**
 * Whether a credential opens a room, and as whom. `room` is null when there is none of that id.
 *
 * - An access token is the source of truth; its holder may make a room by entering it.
 * - An ID token is checked against the room's accesses, each time; so is a single-room token, which opens that room and makes none.
 * - The public key opens rooms whose default access writes, and no others (contract, Authentication 6): a default of `*:read` is
 *   meant for the users one has identified. It carries no organisation, so it opens rooms of the default one only. A comment has an author,
 *   and who has only the key is nobody: threads are to be read.
 * - A room of another organisation does not exist (supplement 1.9), not even as a 403.
 * @throws AppError ROOM_NOT_FOUND, UNAUTHORIZED_ROOM_ACCESS.
 */
export function entryFor(credential: Credential, room: RoomForEntry | null, roomId: string): Entry {
  const claims = credential.kind === 'token' ? credential.claims : null;
  const organizationId = claims?.oid ?? DEFAULT_ORGANIZATION;
  const single = claims?.k === 'acc' ? claims.room : undefined;
  const mayCreate = room === null && claims?.k === 'acc' && single === undefined;
  if (!mayCreate && room?.organizationId !== organizationId) throw new AppError('ROOM_NOT_FOUND', { roomId });
  const permissions = permissionsIn(claims, room, roomId);
  const isElsewhere = single !== undefined && single.id !== roomId;
  if (isElsewhere || !allows(permissions, 'room', claims === null ? 'write' : neededBy(single)))
    throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { roomId });
  return { userId: claims?.uid ?? null, info: claims?.ui ?? null, permissions, createIn: mayCreate ? organizationId : null };
}

const NO_ACCESSES: RoomAccesses = { defaultAccesses: [], groupsAccesses: {}, usersAccesses: {} };

function permissionsIn(claims: Claims | null, room: RoomForEntry | null, roomId: string): Permissions {
  if (claims?.k === 'acc' && claims.room === undefined) return permissionsFromToken(claims.perms, roomId);
  const groupIds = (claims?.k === 'acc' ? claims.room?.gids : claims?.gids) ?? [];
  const given = permissionsFromRoom(room?.accesses ?? NO_ACCESSES, { userId: claims?.uid ?? null, groupIds });
  return claims === null ? readingComments(given) : given;
}

/** The public key opens no room that may only be read, nor does a token that it got. */
function neededBy(single: SingleRoom | undefined): 'read' | 'write' {
  return single?.by === 'public' ? 'write' : 'read';
}

function checkIdentity({ userId, userInfo, organizationId }: Partial<IdentifyUser>): void {
  const { userInfoLengthMax } = TOKEN_LIMITS;
  if (userId !== undefined) checkName(userId, 'userId', NAME_LENGTHS.userId);
  if (organizationId !== undefined) checkName(organizationId, 'organizationId', NAME_LENGTHS.organizationId);
  if (userInfo === undefined) return;
  if (JSON.stringify(userInfo).length > userInfoLengthMax)
    throw valueAtKey('userInfo', `may have at most ${userInfoLengthMax} characters as JSON`);
  if (!isStorableJson(userInfo)) throw valueAtKey('userInfo', 'may not hold U+0000 or half of a surrogate pair');
}

function commonClaims(request: AuthorizeUser | IdentifyUser, issue: Issue): CommonClaims {
  checkIdentity(request);
  const { userId, userInfo, organizationId = DEFAULT_ORGANIZATION } = request;
  const iat = Math.floor(issue.nowMs / 1000);
  return {
    iss: ISSUER,
    aud: ISSUER,
    pid: ISSUER,
    oid: organizationId,
    uid: userId,
    ...(userInfo === undefined ? {} : { ui: userInfo }),
    iat,
    exp: iat + Math.floor(issue.lifetimeMs / 1000),
    jti: issue.tokenId,
  };
}

function bounded<Of extends Claims>(claims: Of, key: string): Of {
  const lengthMax = TOKEN_LIMITS.claimsLengthMax;
  if (Buffer.byteLength(JSON.stringify(claims)) > lengthMax)
    throw valueAtKey(key, `makes the token larger than ${lengthMax} bytes`);
  return claims;
}
