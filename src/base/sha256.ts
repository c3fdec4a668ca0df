/** SHA-256 of bytes as text: what protocol 9.1 calls a snapshot hash, and how blobs are named. Not for secrets; those are compared elsewhere. */
import { createHash } from 'node:crypto';

/** Standard base64 with padding, 44 characters. */
export function sha256Base64(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('base64');
}

/** Lower-case hexadecimal, 64 characters. */
export function sha256Hex(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
