/**
 * The blob port: immutable bytes under a key that we make (never a client's text). Files with signed URLs of our own in embedded mode, S3 with
 * presigned URLs in a cluster; one contract suite (`test/contract/blobs.contract.ts`) holds both to the same behaviour.
 *
 * Every method that asks the store throws AppError BLOBS_UNAVAILABLE when it does not answer, or refuses us; the outcome is then unknown.
 */
import type { BlobParts } from './blob-parts.ts';

/** A store does not keep a piece beyond asking for the next one. */
export type BlobBody = Uint8Array | AsyncIterable<Uint8Array>;

export interface StoredBlob {
  /** In bytes. */
  readonly size: number;
  /** Of the bytes, in lower-case hexadecimal. */
  readonly sha256: string;
}

/** From byte `start` up to and including byte `end`, as in a Range header. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

export interface BlobStream {
  /** Of the whole blob, whatever range was asked for. */
  readonly size: number;
  /** Fails when it breaks off. Must be iterated, to its end or not: it may hold a connection. */
  readonly body: AsyncIterable<Uint8Array>;
}

export interface DownloadTerms {
  readonly validMs: number;
  /** Any text; browsers save the file under it. */
  readonly fileName: string;
  readonly mimeType: string;
}

export interface Blobs {
  /**
   * Stores the bytes; resolves once all of them are durable. A stream is never held whole in memory, and one that breaks off leaves nothing.
   *
   * A key is written once: putting the same bytes again changes nothing. On an S3 server that ignores If-None-Match two that put different bytes
   * at the same time may both resolve; use keys that nobody else can make.
   * @throws AppError RESOURCE_ALREADY_EXISTS when the key holds other bytes.
   */
  put(key: string, body: BlobBody): Promise<StoredBlob>;
  /** All the bytes, or null when there is no such key. */
  get(key: string): Promise<Uint8Array | null>;
  /**
   * The bytes as they come, all or a range; null when there is no such key. A range may end beyond the blob.
   * @throws AppError RANGE_NOT_SATISFIABLE when it begins beyond.
   */
  read(key: string, range?: ByteRange): Promise<BlobStream | null>;
  /** Null when there is no such key. */
  head(key: string): Promise<{ readonly size: number } | null>;
  /** Idempotent. */
  delete(key: string): Promise<void>;
  /** A URL that downloads the blob (GET, also in ranges) without credentials for `validMs`, under `fileName` and `mimeType`. Asks nobody. */
  presign(key: string, terms: DownloadTerms): Promise<string>;
  /** Blobs that come in parts, over requests of their own. */
  readonly parts: BlobParts;
}

/**
 * Segments of up to 200 letters, digits, `_`, `-` and `.`, none beginning with a dot: no key leaves the place of blobs, on whatever store. All
 * of ours begin with `v1/`, the version of this layout: what else is in a bucket is never touched.
 */
const KEY = /^(?!\.)[\w.-]{1,200}(\/(?!\.)[\w.-]{1,200})*$/;
const KEY_LENGTH_MAX = 512;

export function isBlobKey(key: string): boolean {
  return key.length <= KEY_LENGTH_MAX && KEY.test(key);
}

/** Returns the key. Keys are made by us; a bad one is our bug, and better met here than in the store. */
export function mustBeBlobKey(key: string): string {
  if (!isBlobKey(key)) throw new Error(`not a blob key: ${JSON.stringify(key)}`);
  return key;
}
