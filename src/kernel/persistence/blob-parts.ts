/**
 * Blobs that come in parts, as a port: parts may arrive in any order, at once, and again; the blob appears when all are named in the end.
 *
 * The rules are those of S3, kept by every store, so that what works on one works on the others.
 */
import { AppError, valueAtKey } from '../../base/errors.ts';
import type { BlobBody } from './blobs.ts';

/** Names an upload to the store; both fields are needed, on any worker. */
export interface PartsUpload {
  readonly key: string;
  /** Made by the store: up to 1,024 printable characters. */
  readonly uploadId: string;
}

export interface NamedPart {
  readonly partNumber: number;
  /** As `put` returned it; quotes around it do not matter. */
  readonly etag: string;
}

export interface UploadedPart extends NamedPart {
  readonly size: number;
}

export interface BlobParts {
  start(key: string): Promise<PartsUpload>;
  /**
   * Stores one part; the same number again replaces it. `size` is how many bytes will come; without it at most `PART_BYTES_MIN` may.
   * @throws AppError RESOURCE_NOT_FOUND when there is no such upload, PAYLOAD_TOO_LARGE, UNPROCESSABLE_ENTITY for a bad number or another size.
   */
  put(upload: PartsUpload, partNumber: number, part: { body: BlobBody; size?: number }): Promise<UploadedPart>;
  /**
   * Makes the blob of its parts in the order of their numbers; the upload is then gone. Nothing is changed by a refusal.
   * @throws AppError RESOURCE_NOT_FOUND when there is no such upload, PAYLOAD_TOO_LARGE when the blob would be larger than `bytesMax`,
   * UNPROCESSABLE_ENTITY when the parts named are not those uploaded, one before the last is smaller than `PART_BYTES_MIN`, or they make another
   * size than announced.
   */
  complete(upload: PartsUpload, parts: readonly NamedPart[], limits: SizeLimits): Promise<{ readonly size: number }>;
  /** Idempotent. */
  abort(upload: PartsUpload): Promise<void>;
  /** Aborts what was begun before and never ended, whoever began it; at most some thousands at once. Returns how many there were. */
  abortStale(begun: { beforeMs: number }): Promise<number>;
}

export interface SizeLimits {
  readonly bytesMax: number;
  /** Exactly so many, where that was announced. */
  readonly bytes?: number;
}

/** Smallest size of a part that is not the last. */
export const PART_BYTES_MIN = 5 * 1024 * 1024;
export const PART_NUMBER_MAX = 10_000;

/** @throws AppError UNPROCESSABLE_ENTITY */
export function mustBePartNumber(partNumber: number): void {
  if (Number.isInteger(partNumber) && partNumber >= 1 && partNumber <= PART_NUMBER_MAX) return;
  throw valueAtKey('partNumber', `must be an integer from 1 to ${PART_NUMBER_MAX}`);
}

/** Refuses an upload that the store does not know. */
export function noSuchUpload({ uploadId }: PartsUpload): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'upload', id: uploadId });
}

/** The bytes of a part as they come. @throws AppError as `put` says, when there are not as many as announced, or too many unannounced ones. */
export async function* countedBody(body: BlobBody, size: number | undefined): AsyncGenerator<Uint8Array> {
  let came = 0;
  const refuse = (): AppError =>
    size === undefined
      ? new AppError('PAYLOAD_TOO_LARGE', { what: 'A part whose size is not announced', bytesMax: PART_BYTES_MIN })
      : new AppError('UNPROCESSABLE_ENTITY', { reason: `${size} bytes were announced, and another number of bytes came` });
  for await (const piece of body instanceof Uint8Array ? [body] : body) {
    came += piece.length;
    if (came > (size ?? PART_BYTES_MIN)) throw refuse();
    yield piece;
  }
  if (size !== undefined && came !== size) throw refuse();
}

/** The parts as the store has them, in the order of their numbers. @throws AppError as `complete` says. */
export function mustMatchParts(
  uploaded: readonly UploadedPart[],
  named: readonly NamedPart[],
  { bytesMax, bytes }: SizeLimits,
): readonly UploadedPart[] {
  const inOrder = [...uploaded].sort((left, right) => left.partNumber - right.partNumber);
  const numbers = new Set(uploaded.map(({ partNumber }) => partNumber));
  const etags = new Map(named.map(({ partNumber, etag }) => [partNumber, plainEtag(etag)]));
  const refuse = (reason: string): AppError => valueAtKey('parts', reason);
  if (named.length === 0) throw refuse('must name a part');
  if (etags.size < named.length) throw refuse('names a part twice');
  const stranger = named.find(({ partNumber }) => !numbers.has(partNumber));
  if (stranger !== undefined) throw refuse(`names part ${stranger.partNumber}, which was not uploaded`);
  for (const part of inOrder) {
    const etag = etags.get(part.partNumber);
    if (etag === undefined) throw refuse(`leaves out part ${part.partNumber}, which was uploaded`);
    if (etag !== plainEtag(part.etag)) throw replacedPart(part);
  }
  const small = inOrder.slice(0, -1).find(({ size }) => size < PART_BYTES_MIN);
  if (small !== undefined)
    throw refuse(`has part ${small.partNumber} of ${small.size} bytes; only the last may have less than ${PART_BYTES_MIN}`);
  const size = inOrder.reduce((sum, part) => sum + part.size, 0);
  if (size > bytesMax) throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The file', bytesMax });
  if (bytes !== undefined && size !== bytes) throw refuse(`make ${size} bytes, where ${bytes} were announced`);
  return inOrder;
}

/** Refuses a part that is not, or no longer, the one that was named. */
export function replacedPart({ partNumber }: Pick<NamedPart, 'partNumber'>): AppError {
  return valueAtKey('parts', `has another etag for part ${partNumber} than its upload returned`);
}

/** Servers and clients disagree about the quotes around an etag. */
export function plainEtag(etag: string): string {
  return etag.replace(/^"(.*)"$/, '$1');
}
