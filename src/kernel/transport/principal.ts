/** Who is asking: from the Authorization header to a principal. It does not know how tokens are signed, nor what a user may do where. */
import { timingSafeEqual } from 'node:crypto';
import { AppError } from '../../base/errors.ts';
import type { Keyring } from '../../base/keyring.ts';
import { sha256Digest } from '../../base/sha256.ts';
import type { HttpRequest } from './server.ts';

/** `token` holds the verified claims; the kernel does not look inside. */
export type Principal =
  | { readonly kind: 'secret' }
  | { readonly kind: 'public' }
  | { readonly kind: 'user'; readonly token: Readonly<Record<string, unknown>> }
  | { readonly kind: 'none' };

/**
 * secret: the secret key. back end: the same, or the token that the older API gives for it. none: anybody. Else a right that the secret key
 * implies and that `authorize` checks for users.
 */
export type Need = 'secret' | 'back end' | 'none' | `${'room' | 'storage' | 'comments' | 'personal'}:${'read' | 'write'}`;

export type Authenticate = (request: Pick<HttpRequest, 'headers'>, need: Need) => Principal | Promise<Principal>;

export interface AuthenticateOptions {
  readonly secretKeys: Keyring<string>;
  readonly publicKey: string;
  /** The claims of a valid token. @throws AppError INVALID_TOKEN or TOKEN_EXPIRED. */
  readonly verifyToken: (token: string) => Promise<Readonly<Record<string, unknown>>>;
  /** Resolves for a token that stands for the secret key. @throws the same. */
  readonly verifyBackEndToken?: (token: string) => Promise<void>;
}

const BEARER = /^Bearer +(\S+) *$/i;

/** What the header `Authorization: Bearer …` carries; null without one, or with another scheme. */
export function bearerOf(headers: HttpRequest['headers']): string | null {
  return BEARER.exec(headers.authorization ?? '')?.[1] ?? null;
}

/** The check for every route (contract, "Authentication" and "Errors"; supplement 7 rows 1–4). */
export function makeAuthenticate({ secretKeys, publicKey, verifyToken, verifyBackEndToken }: AuthenticateOptions): Authenticate {
  const isSecretKey = keyCheck(secretKeys);
  const isPublicKey = keyCheck([publicKey]);

  const requireSecret = (bearer: string | null): Principal => {
    if (bearer === null) throw new AppError('MISSING_SECRET_KEY');
    if (bearer.startsWith('pk_')) throw new AppError('WRONG_KEY_USED');
    if (!isSecretKey(bearer)) throw new AppError('INVALID_SECRET_KEY');
    return { kind: 'secret' };
  };

  return (request, need) => {
    if (need === 'none') return { kind: 'none' };
    const bearer = bearerOf(request.headers);
    if (need === 'back end' && bearer !== null && !/^[sp]k_/.test(bearer)) {
      if (verifyBackEndToken === undefined) throw new AppError('INVALID_TOKEN', { reason: 'no token opens this route' });
      return verifyBackEndToken(bearer).then(() => ({ kind: 'secret' }));
    }
    if (need === 'secret' || need === 'back end') return requireSecret(bearer);
    if (bearer === null) throw new AppError('MISSING_TOKEN');
    if (bearer.startsWith('sk_')) return requireSecret(bearer);
    if (!bearer.startsWith('pk_')) return verifyToken(bearer).then((token) => ({ kind: 'user', token }));
    if (!isPublicKey(bearer)) throw new AppError('INVALID_PUBLIC_KEY');
    return { kind: 'public' };
  };
}

/**
 * Compares digests, whose length does not depend on the key, in constant time (reliability 2.g 3). The key that was right is known again without one:
 * a set reads a text only where its hash is the same, and that is seeded anew in each process, so nobody learns from the clock how near he is.
 */
function keyCheck(keys: Keyring<string>): (candidate: string) => boolean {
  const digests = keys.map(sha256Digest);
  const right = new Set<string>(); // one text at most has each digest
  return (candidate) => {
    if (right.has(candidate)) return true;
    const given = sha256Digest(candidate);
    if (!digests.some((digest) => timingSafeEqual(given, digest))) return false;
    right.add(candidate);
    return true;
  };
}
