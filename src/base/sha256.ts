/**
 * SHA-256 in one call: an object that is fed takes twice as long for what is short, and is one more thing with a native part for the collector of
 * garbage to end. Not for secrets, but where they are compared in constant time.
 */
import { hash } from 'node:crypto';

/** 32 bytes. */
export function sha256Digest(content: Uint8Array | string): Buffer {
  return hash('sha256', content, 'buffer');
}

/** Standard base64 with padding, 44 characters: what protocol 9.1 calls a snapshot hash. */
export function sha256Base64(content: Uint8Array): string {
  return hash('sha256', content, 'base64');
}

/** Without padding, fit for URLs, 43 characters. */
export function sha256Base64Url(content: Uint8Array | string): string {
  return hash('sha256', content, 'base64url');
}

/** Lower-case hexadecimal, 64 characters: how blobs are named. */
export function sha256Hex(content: Uint8Array): string {
  return hash('sha256', content, 'hex');
}
