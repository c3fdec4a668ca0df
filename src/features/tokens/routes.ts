/** The endpoints that issue tokens (contract, Tokens). No room and no database: any worker answers, and any verifies. */
import { type BoundRoute, bindRoute, routeFor } from '../../kernel/transport/route.ts';
import { signToken } from './queries.ts';
import { accessClaimsFor, type Issue, idClaimsFor } from './rules.ts';
import { AuthorizeUserBody, IdentifyUserBody, TokenReply } from './shapes.ts';

export interface TokensDeps {
  readonly tokenKey: Uint8Array;
  readonly tokenLifetimeMs: number;
  nowMs(): number;
  /** Never the same twice. */
  newTokenId(): string;
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
    return { token: await signToken(accessClaimsFor(body, issueOf(deps)), deps.tokenKey) };
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

export function tokenRoutes(deps: TokensDeps): BoundRoute[] {
  return [bindRoute(authorizeUserRoute, deps), bindRoute(identifyUserRoute, deps)];
}

function issueOf({ nowMs, tokenLifetimeMs, newTokenId }: TokensDeps): Issue {
  return { nowMs: nowMs(), lifetimeMs: tokenLifetimeMs, tokenId: newTokenId() };
}
