/** The endpoints that issue tokens (contract, Tokens). Any worker answers, and any verifies; only single-room tokens look at their room. */
import { AppError } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import { type BoundRoute, bindRoute, routeFor } from '../../kernel/transport/route.ts';
import { checkRoomId, DEFAULT_ORGANIZATION } from '../../protocol/names.ts';
import { signBackEndToken, signToken } from './queries.ts';
import {
  accessClaimsFor,
  checkGuest,
  type Issue,
  idClaimsFor,
  type RoomForEntry,
  type RoomGuest,
  roomClaimsFor,
} from './rules.ts';
import {
  AuthorizeInRoomBody,
  type AuthorizeUser,
  AuthorizeUserBody,
  IdentifyUserBody,
  OlderAuthorizeBody,
  PublicAuthorizeBody,
  RoomParams,
  TokenReply,
} from './shapes.ts';

export interface TokensDeps {
  readonly tokenKey: Uint8Array;
  readonly tokenLifetimeMs: number;
  readonly publicKey: string;
  nowMs(): number;
  /** Never the same twice. */
  newTokenId(): string;
  /** The room as entry needs it, or null. */
  findRoom(roomId: RoomId): Promise<RoomForEntry | null>;
}

const route = routeFor<TokensDeps>();
const tag = 'Tokens';

export const authorizeUserRoute = route({
  method: 'POST',
  path: '/v2/authorize-user',
  needs: 'secret',
  tag,
  summary: 'Issue an access token: it holds all permissions itself',
  body: AuthorizeUserBody,
  reply: TokenReply,
  async handle({ body }, deps) {
    return { token: await issueToken(body, deps) };
  },
});

export const identifyUserRoute = route({
  method: 'POST',
  path: '/v2/identify-user',
  needs: 'secret',
  tag,
  summary: 'Issue an ID token: the accesses of each room say what it may',
  body: IdentifyUserBody,
  reply: TokenReply,
  async handle({ body }, deps) {
    return { token: await signToken(idClaimsFor(body, issueOf(deps)), deps.tokenKey) };
  },
});

export const authorizeInRoomRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/authorize',
  needs: 'secret',
  deprecated: true,
  tag,
  summary: 'Issue a token for one room; POST /v2/authorize-user and /v2/identify-user are the newer way',
  params: RoomParams,
  body: AuthorizeInRoomBody,
  reply: TokenReply,
  refuses: ['UNAUTHORIZED_ROOM_ACCESS', 'ROOM_NOT_FOUND'],
  async handle({ params, body }, deps) {
    return { token: await roomToken(params.roomId, { by: 'secret', request: body }, deps) };
  },
});

export const publicAuthorizeRoute = route({
  method: 'POST',
  path: '/v2/rooms/:roomId/public/authorize',
  needs: 'none', // the key is in the body
  deprecated: true,
  tag,
  summary: 'Issue a token for one public room; a client with the public key needs none',
  params: RoomParams,
  body: PublicAuthorizeBody,
  reply: TokenReply,
  refuses: ['INVALID_PUBLIC_KEY', 'UNAUTHORIZED_ROOM_ACCESS', 'ROOM_NOT_FOUND'],
  async handle({ params, body }, deps) {
    if (body.publicApiKey !== deps.publicKey) throw new AppError('INVALID_PUBLIC_KEY');
    return { token: await roomToken(params.roomId, { by: 'public' }, deps) };
  },
});

const olderFacts = {
  path: '/api/authorize',
  needs: 'secret',
  deprecated: true,
  tag,
  reply: TokenReply,
} as const;

export const backEndTokenRoute = route({
  ...olderFacts,
  method: 'GET',
  summary: 'Issue the JWT that the endpoints under /v1 take; it lives one hour',
  async handle(_, deps) {
    return { token: await backEndToken(deps) };
  },
});

export const olderAuthorizeRoute = route({
  ...olderFacts,
  method: 'POST',
  summary: 'The same; or a token for one room when it names one, as the first SDKs ask for it',
  body: OlderAuthorizeBody,
  refuses: ['UNAUTHORIZED_ROOM_ACCESS', 'ROOM_NOT_FOUND'],
  async handle({ body: { room, ...request } }, deps) {
    if (room === undefined) return { token: await backEndToken(deps) };
    return { token: await roomToken(room, { by: 'secret', request }, { ...deps, roomKey: 'room' }) };
  },
});

export function tokenRoutes(deps: TokensDeps): BoundRoute[] {
  return [
    bindRoute(authorizeUserRoute, deps),
    bindRoute(identifyUserRoute, deps),
    bindRoute(authorizeInRoomRoute, deps),
    bindRoute(publicAuthorizeRoute, deps),
    bindRoute(backEndTokenRoute, deps),
    bindRoute(olderAuthorizeRoute, deps),
  ];
}

/** The token of POST /v2/authorize-user. @throws AppError UNPROCESSABLE_ENTITY naming the key. */
export async function issueToken(request: AuthorizeUser, deps: TokensDeps): Promise<string> {
  return signToken(accessClaimsFor(request, issueOf(deps)), deps.tokenKey);
}

function issueOf({ nowMs, tokenLifetimeMs, newTokenId }: TokensDeps): Issue {
  return { nowMs: nowMs(), lifetimeMs: tokenLifetimeMs, tokenId: newTokenId() };
}

function backEndToken({ nowMs, newTokenId, tokenKey }: TokensDeps): Promise<string> {
  return signBackEndToken({ nowMs: nowMs(), tokenId: newTokenId() }, tokenKey);
}

/** The public key says nothing of organisations: to it there are only the rooms of the default one. */
async function roomToken(id: string, guest: RoomGuest, deps: TokensDeps & { readonly roomKey?: string }): Promise<string> {
  const roomId = checkRoomId(id, deps.roomKey ?? 'roomId');
  checkGuest(guest);
  const room = await deps.findRoom(roomId);
  if (room === null || (guest.by === 'public' && room.organizationId !== DEFAULT_ORGANIZATION))
    throw new AppError('ROOM_NOT_FOUND', { roomId });
  const issue = { ...issueOf(deps), anonymousId: `anonymous-${deps.newTokenId()}` };
  return signToken(roomClaimsFor(guest, { ...room, id: roomId }, issue), deps.tokenKey);
}
