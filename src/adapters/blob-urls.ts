/** Signed URLs of blobs that we serve ourselves: what they permit is in them, and nobody without the secret can change it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Keyring } from '../base/keyring.ts';
import { isBlobKey } from '../kernel/persistence/blobs.ts';

/** What a signed URL permits. */
export interface BlobGrant {
  readonly key: string;
  readonly expiresAtMs: number;
  readonly fileName: string;
  readonly mimeType: string;
}

/** Path and query under our own address. */
export function signedPath(grant: BlobGrant, secret: Uint8Array): string {
  const query = new URLSearchParams({
    expires: String(grant.expiresAtMs),
    name: grant.fileName,
    type: grant.mimeType,
    signature: sign(grant, secret),
  });
  return `${BLOB_PATH}${grant.key}?${query}`;
}

/** Begins the path of every such URL; the key follows. */
export const BLOB_PATH = '/blobs/';

/** The grant of a URL made by `signedPath`; null when it was changed or has expired. */
export function grantOf(
  { path, query }: { path: string; query: string },
  { nowMs, secrets }: { nowMs: number; secrets: Keyring },
): BlobGrant | null {
  const key = path.slice(BLOB_PATH.length);
  const values = new URLSearchParams(query);
  const [expires, fileName, mimeType, signature] = ['expires', 'name', 'type', 'signature'].map((name) => values.get(name));
  if (expires == null || fileName == null || mimeType == null || signature == null || !isBlobKey(key)) return null;
  const grant = { key, expiresAtMs: Number(expires), fileName, mimeType };
  const isGood = secrets.some((secret) => isSame(signature, sign(grant, secret)));
  return isGood && nowMs < grant.expiresAtMs ? grant : null;
}

function isSame(given: string, expected: string): boolean {
  const [left, right] = [Buffer.from(given), Buffer.from(expected)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Over a list in JSON, so that no part can grow into its neighbour. */
function sign({ key, expiresAtMs, fileName, mimeType }: BlobGrant, secret: Uint8Array): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([key, expiresAtMs, fileName, mimeType]))
    .digest('base64url');
}
