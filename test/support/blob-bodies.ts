/** Bodies for blobs, and keys that no other test has. */
import { createHash, randomUUID } from 'node:crypto';

export const MIB = 1024 * 1024;

export const aKey = (): string => `v1/test/${randomUUID()}`;

/** The same bytes for the same size, with no period that a mistake could hide in. */
export function bytesOf(size: number): Uint8Array {
  const bytes = new Uint8Array(size);
  for (let at = 0, state = 1; at < size; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    bytes[at] = state >>> 24;
  }
  return bytes;
}

export async function* inPieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
}

export async function textOf(body: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
