/** Signed URLs of blobs that we serve ourselves: what they permit is in them, and nobody without the secret can change it. */
import { createHmac, timingSafeEqual } from 'node:crypto';
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
  { nowMs, secret }: { nowMs: number; secret: Uint8Array },
): BlobGrant | null {
  const key = path.slice(BLOB_PATH.length);
  const values = new URLSearchParams(query);
  const [expires, fileName, mimeType, signature] = ['expires', 'name', 'type', 'signature'].map((name) => values.get(name));
  if (expires == null || fileName == null || mimeType == null || signature == null || !isBlobKey(key)) return null;
  const grant = { key, expiresAtMs: Number(expires), fileName, mimeType };
  const expected = Buffer.from(sign(grant, secret));
  const given = Buffer.from(signature);
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) return null;
  return nowMs < grant.expiresAtMs ? grant : null;
}

/** Over a list in JSON, so that no part can grow into its neighbour. */
function sign({ key, expiresAtMs, fileName, mimeType }: BlobGrant, secret: Uint8Array): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify([key, expiresAtMs, fileName, mimeType]))
    .digest('base64url');
}
