/** Puts a blob and reads it back: what the store took is what it gives. Only then may a row refer to it. */
import { createHash } from 'node:crypto';
import { AppError } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import type { Blobs } from './blobs.ts';

interface CheckedPut {
  readonly key: string;
  readonly bytes: Uint8Array;
  /** Of the bytes. */
  readonly sha256: Uint8Array;
}

/** @throws AppError BLOBS_UNAVAILABLE, also when the bytes come back changed */
export async function putAndReadBack(
  { key, bytes, sha256 }: CheckedPut,
  { blobs, log }: { readonly blobs: Pick<Blobs, 'put' | 'read'>; readonly log: Log },
): Promise<void> {
  await blobs.put(key, bytes);
  const hash = createHash('sha256');
  let foundSize = 0;
  for await (const piece of (await blobs.read(key))?.body ?? []) {
    hash.update(piece);
    foundSize += piece.length;
  }
  if (Buffer.compare(hash.digest(), sha256) === 0) return;
  log.error({ blobKey: key, size: bytes.length, foundSize }, 'blob came back damaged');
  throw new AppError('BLOBS_UNAVAILABLE', { reason: 'the store gave other bytes than it took' });
}
