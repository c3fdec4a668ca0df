/** CRC-32 (IEEE 802.3, as in zip and PNG). Finds damage, not tampering. */
import { crc32 as unsigned } from 'node:zlib';

/** The checksum as a signed 32-bit integer, the form in which SQL keeps it; pass an earlier result to go on from there. A text counts as UTF-8. */
export function crc32(content: Uint8Array | string, previous = 0): number {
  return unsigned(content, previous >>> 0) | 0;
}
