/**
 * The questions about a credential: is it ours, and does it open this room?
 *
 * Claims ↔ token text with one algorithm and one key: the token's own header chooses nothing, and any worker verifies any token
 * without asking anybody. What the claims allow is decided in `rules.ts`.
 */
import { hkdfSync } from 'node:crypto';
import { errors, type JWTPayload, type JWTVerifyOptions, jwtVerify, SignJWT } from 'jose';
import { Compile } from 'typebox/compile';
import { AppError } from '../../base/errors.ts';
import type { RoomId } from '../../base/ids.ts';
import type { Keyring } from '../../base/keyring.ts';
import { putNewest } from '../../base/newest.ts';
import type { Need, Principal } from '../../kernel/transport/principal.ts';
import { checkRoomId } from '../../protocol/names.ts';
import { allows, type Permissions, type Resource } from '../../protocol/permissions.ts';
import type { Person } from '../../protocol/person.ts';
import { type Credential, type Entry, entryFor, ISSUER, type RoomForEntry } from './rules.ts';
import { BackEndClaimsShape, type Claims, ClaimsShape } from './shapes.ts';

const ALGORITHM = 'HS256';
/** Longest text taken for a token: what `TOKEN_LIMITS` allow, in base64, with header and signature. */
const TOKEN_LENGTH_MAX = 16_384;
/** A worker's clock may run this far behind the one that signed. Expiry has no tolerance: 4109 before it makes clients spin (protocol 2.3). */
const CLOCK_SKEW_MS = 30_000;

const claimsShape = Compile(ClaimsShape);
const backEndShape = Compile(BackEndClaimsShape);

export interface TokenVerifierDeps {
  /** The one that signs, and those that did before. */
  readonly tokenKeys: Keyring;
  nowMs(): number;
  /** How many verified tokens are remembered; a socket that reconnects or a page of requests then costs no signature. */
  readonly rememberedMax: number;
}

/** @throws AppError INVALID_TOKEN with a reason, or TOKEN_EXPIRED for a token that was once good. */
export type VerifyToken = (token: string) => Promise<Claims>;

/** The key that signs tokens, derived from the secret key: who has the one can make the other, and nobody else. */
export function tokenKeyFrom(secretKey: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secretKey, '', 'atrium token signature 1', 32));
}

/** Whom the JWT of the first REST API is for: its routes, which take no token of a user, as sockets do not take it. */
const BACK_END = 'atrium back end';
/** The contract promises an hour, whatever tokens of users live. */
const BACK_END_TOKEN_SECONDS = 3_600;

/** A token that stands for the secret key on the routes of the first REST API (contract, Authentication 7). */
export async function signBackEndToken(
  { nowMs, tokenId }: { readonly nowMs: number; readonly tokenId: string },
  tokenKey: Uint8Array,
): Promise<string> {
  const iat = Math.floor(nowMs / 1000);
  return new SignJWT({ iss: ISSUER, aud: BACK_END, iat, exp: iat + BACK_END_TOKEN_SECONDS, jti: tokenId })
    .setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' })
    .sign(tokenKey);
}

/** @throws AppError INVALID_TOKEN with a reason, or TOKEN_EXPIRED. */
export async function verifyBackEndToken(
  token: string,
  deps: { readonly tokenKeys: Keyring; readonly nowMs: number },
): Promise<void> {
  await claimsOf(token, {
    ...deps,
    audience: BACK_END,
    fits: (payload) => backEndShape.Check(payload),
  });
}

export async function signToken(claims: Claims, tokenKey: Uint8Array): Promise<string> {
  return new SignJWT({ ...claims }).setProtectedHeader({ alg: ALGORITHM, typ: 'JWT' }).sign(tokenKey);
}

export function makeTokenVerifier(deps: TokenVerifierDeps): VerifyToken {
  const remembered = new Map<string, Claims>();
  return async function verifyToken(token) {
    const claims = remembered.get(token) ?? (await verified(token, deps));
    if (claims.exp * 1000 <= deps.nowMs()) {
      remembered.delete(token);
      throw new AppError('TOKEN_EXPIRED');
    }
    if (!remembered.has(token)) putNewest(remembered, token, claims, deps.rememberedMax); // a flood of tokens costs verifications, not memory
    return claims;
  };
}

function verified(token: string, { tokenKeys, nowMs }: TokenVerifierDeps): Promise<Claims> {
  return claimsOf(token, { tokenKeys, nowMs: nowMs(), audience: ISSUER, fits: (payload) => claimsShape.Check(payload) });
}

interface Expected<Wanted> {
  readonly tokenKeys: Keyring;
  readonly nowMs: number;
  readonly audience: string;
  readonly fits: (payload: unknown) => payload is Wanted;
}

async function claimsOf<Wanted extends { iat: number }>(token: string, expected: Expected<Wanted>): Promise<Wanted> {
  if (token.length > TOKEN_LENGTH_MAX) throw new AppError('INVALID_TOKEN', { reason: 'it is too long' });
  const { tokenKeys, nowMs, audience, fits } = expected;
  try {
    const payload = await payloadOf(token, tokenKeys, {
      algorithms: [ALGORITHM],
      typ: 'JWT',
      issuer: ISSUER,
      audience,
      currentDate: new Date(nowMs),
    });
    if (!fits(payload)) throw new AppError('INVALID_TOKEN', { reason: 'a claim is missing or malformed' });
    if (payload.iat * 1000 > nowMs + CLOCK_SKEW_MS) throw new AppError('INVALID_TOKEN', { reason: 'it is from the future' });
    return payload;
  } catch (error) {
    throw refusalOf(error);
  }
}

async function payloadOf(token: string, [tokenKey, ...others]: Keyring, options: JWTVerifyOptions): Promise<JWTPayload> {
  try {
    return (await jwtVerify(token, tokenKey, options)).payload;
  } catch (error) {
    const [next, ...rest] = others;
    if (next === undefined || !(error instanceof errors.JWSSignatureVerificationFailed)) throw error;
    return payloadOf(token, [next, ...rest], options);
  }
}

function refusalOf(error: unknown): unknown {
  if (error instanceof errors.JWTExpired) return new AppError('TOKEN_EXPIRED');
  if (error instanceof errors.JWSSignatureVerificationFailed)
    return new AppError('INVALID_TOKEN', { reason: 'its signature does not match' });
  if (error instanceof errors.JOSEAlgNotAllowed) return new AppError('INVALID_TOKEN', { reason: 'its algorithm is not ours' });
  if (error instanceof errors.JWTClaimValidationFailed)
    return new AppError('INVALID_TOKEN', { reason: `its claim ${error.claim} does not fit` });
  if (error instanceof errors.JOSEError) return new AppError('INVALID_TOKEN', { reason: 'it is not a token of ours' });
  return error;
}

export interface AdmissionDeps {
  readonly verifyToken: VerifyToken;
  readonly publicKey: string;
  /** The room as entry needs it, or null. */
  findRoom(roomId: RoomId): Promise<RoomForEntry | null>;
  /** Makes the room without any accesses; resolves with it, or with the one that was made meanwhile. */
  createRoom(room: { readonly roomId: RoomId; readonly organizationId: string }): Promise<RoomForEntry>;
}

/** What a client shows when it opens a socket. */
export type Shown =
  | { readonly type: 'token'; readonly token: string }
  | { readonly type: 'public-key'; readonly key: string }
  | { readonly type: 'none' };

export interface Admission extends Omit<Entry, 'createIn'> {
  readonly roomId: RoomId;
  /** When the token expires, in ms since the epoch; Infinity for the public key. */
  readonly expiresAtMs: number;
}

/**
 * Lets a client into a room, or says why not; makes the room when it is new and the client may.
 * @throws AppError MISSING_TOKEN, INVALID_TOKEN, TOKEN_EXPIRED, INVALID_PUBLIC_KEY, UNPROCESSABLE_ENTITY (the room id), ROOM_NOT_FOUND,
 * UNAUTHORIZED_ROOM_ACCESS.
 */
export async function admit(target: { roomId: string; credentials: Shown }, deps: AdmissionDeps): Promise<Admission> {
  const credential = await credentialOf(target.credentials, deps);
  const roomId = checkRoomId(target.roomId, 'roomId');
  const expiresAtMs = credential.kind === 'token' ? credential.claims.exp * 1000 : Number.POSITIVE_INFINITY;
  const { createIn, ...entry } = entryFor(credential, await deps.findRoom(roomId), roomId);
  // Another organisation may have been quicker: what is there now is judged again.
  if (createIn !== null) entryFor(credential, await deps.createRoom({ roomId, organizationId: createIn }), roomId);
  return { roomId, ...entry, expiresAtMs };
}

async function credentialOf(shown: Shown, { verifyToken, publicKey }: AdmissionDeps): Promise<Credential> {
  if (shown.type === 'none') throw new AppError('MISSING_TOKEN');
  if (shown.type === 'token') return { kind: 'token', claims: await verifyToken(shown.token) };
  if (shown.key !== publicKey) throw new AppError('INVALID_PUBLIC_KEY');
  return { kind: 'public key' };
}

/**
 * Whether a user, or whoever has the public key, may do what a route for clients needs in the room of its path; the room is judged as at entry.
 * A room that is not there passes for those who could make it by entering: the route says that there is none.
 * @throws AppError UNPROCESSABLE_ENTITY (the room id), ROOM_NOT_FOUND, UNAUTHORIZED_ROOM_ACCESS.
 */
export async function authorize(
  principal: Principal,
  need: Need,
  { params, findRoom }: { params: Readonly<Record<string, string>> } & Pick<AdmissionDeps, 'findRoom'>,
): Promise<void> {
  const [resource, level] = need.split(':') as [Resource | 'personal', 'read' | 'write'];
  if (resource === 'personal' && principal.kind === 'user') return;
  if (resource === 'personal') throw noUser();
  const roomId = checkRoomId(params.roomId, 'roomId');
  const { permissions } = entryFor(credentialFrom(principal), await findRoom(roomId), roomId);
  if (!allows(permissions, resource, level)) throw new AppError('UNAUTHORIZED_ROOM_ACCESS', { need, roomId });
}

function noUser(): AppError {
  return new AppError('UNAUTHORIZED_ROOM_ACCESS', { reason: 'This needs the token of a user' });
}

/** Who asks, for routes that answer to a person. @throws AppError UNAUTHORIZED_ROOM_ACCESS for a key, which is nobody. */
export function personOf(principal: Principal): Person {
  if (principal.kind !== 'user') throw noUser();
  const { uid, oid } = principal.token as unknown as Claims;
  return { userId: uid, organizationId: oid };
}

/**
 * What a user, or whoever has the public key, may do in a room: more than one need of a route tells.
 * @throws AppError ROOM_NOT_FOUND, UNAUTHORIZED_ROOM_ACCESS as at entry.
 */
export async function permissionsIn(
  principal: Principal,
  { roomId, findRoom }: { roomId: RoomId } & Pick<AdmissionDeps, 'findRoom'>,
): Promise<Permissions> {
  return entryFor(credentialFrom(principal), await findRoom(roomId), roomId).permissions;
}

function credentialFrom(principal: Principal): Credential {
  if (principal.kind === 'user') return { kind: 'token', claims: principal.token as unknown as Claims };
  if (principal.kind === 'public') return { kind: 'public key' };
  throw new Error(`nobody asks for the permissions of ${principal.kind}`);
}
