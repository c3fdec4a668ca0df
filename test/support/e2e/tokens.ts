/** Tokens as a customer's back end gets them, and tokens of our own making that no back end would issue. */
import { randomUUID } from 'node:crypto';
import { signToken, tokenKeyFrom } from '../../../src/features/tokens/queries.ts';
import { accessClaimsFor } from '../../../src/features/tokens/rules.ts';
import type { TestServer } from './server.ts';

export interface Person {
  readonly userId: string;
  readonly userInfo?: Record<string, string>;
  /** Scopes by room id or pattern. */
  readonly permissions?: Record<string, string[]>;
  readonly organizationId?: string;
}

const EVERYTHING = { '*': ['*:write'] };

/** An access token from POST /v2/authorize-user, through the SDK of the back end. */
export async function accessTokenFor(server: TestServer, person: Person): Promise<string> {
  const { userId, userInfo, organizationId, permissions = EVERYTHING } = person;
  const session = server.backend.prepareSession(userId, {
    ...(userInfo && { userInfo }),
    ...(organizationId && { organizationId }),
  });
  for (const [pattern, scopes] of Object.entries(permissions)) session.allow(pattern, scopes as never);
  return tokenIn(await session.authorize());
}

export interface Identity {
  readonly userId: string;
  readonly groupIds?: string[];
  readonly organizationId?: string;
}

/** An ID token from POST /v2/identify-user. */
export async function idTokenFor(server: TestServer, identity: Identity): Promise<string> {
  const { userId, groupIds = [], organizationId } = identity;
  return tokenIn(await server.backend.identifyUser({ userId, groupIds, ...(organizationId && { organizationId }) }));
}

/** An access token that expires when the test wants, signed with the server's own key or with a foreign one. */
export async function forgedToken(
  server: TestServer,
  { expiresInSeconds, signedWith = server.secretKey }: { expiresInSeconds: number; signedWith?: string },
): Promise<string> {
  const lifetimeSeconds = 20; // so short that an SDK client does not keep it (protocol 2.3)
  const issuedAtMs = Date.now() + (expiresInSeconds - lifetimeSeconds) * 1_000;
  const claims = accessClaimsFor(
    { userId: 'forged', permissions: EVERYTHING },
    { nowMs: issuedAtMs, lifetimeMs: lifetimeSeconds * 1_000, tokenId: randomUUID() },
  );
  return signToken(claims, tokenKeyFrom(signedWith));
}

function tokenIn({ status, body }: { status: number; body: string }): string {
  if (status !== 200) throw new Error(`no token: ${status} ${body}`);
  return (JSON.parse(body) as { token: string }).token;
}
