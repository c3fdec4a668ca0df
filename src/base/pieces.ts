/**
 * Bytes that lie in memory in pieces, none of which is ever written to again: texts that are alike in most of their pieces share them.
 */
import { concat } from './binary.ts';

export type Pieces = readonly Uint8Array[];

/** Of all together, in bytes. */
export function bytesIn(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Nothing is in no piece: an empty list may be of anything. */
export function isPieces(value: unknown): value is Pieces {
  return Array.isArray(value) && value[0] instanceof Uint8Array;
}

/** In order, none of them longer than `bytesMax`. */
export function* noneLonger(pieces: Pieces, bytesMax: number): Generator<Uint8Array> {
  for (const piece of pieces) for (let at = 0; at < piece.length; at += bytesMax) yield piece.subarray(at, at + bytesMax);
}

/** What UTF-8 in pieces says. */
export function textIn(pieces: Pieces): string {
  const { buffer, byteOffset, byteLength } = concat(pieces);
  return Buffer.from(buffer, byteOffset, byteLength).toString();
}
