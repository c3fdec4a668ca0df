/** What one frame of a socket carries to its client. */
import { bytesIn, type Pieces } from '../../base/pieces.ts';

/** Text that is bytes already: nobody encodes it anew for each reader, and where it is long it leaves in pieces. A plain object, because it crosses the bus. */
export interface Utf8 {
  readonly utf8: Pieces;
}

/** A string and UTF-8 go out as text, bytes as binary. */
export type Frame = string | Uint8Array | Utf8;

/** In bytes; of a string, which has at most three times as many, in UTF-16 units. */
export function lengthOf(frame: Frame): number {
  return isUtf8(frame) ? bytesIn(frame.utf8) : frame.length;
}

export function isUtf8(frame: Frame): frame is Utf8 {
  return typeof frame !== 'string' && !(frame instanceof Uint8Array);
}
