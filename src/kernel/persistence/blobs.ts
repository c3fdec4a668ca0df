/**
 * The blob port: immutable bytes under a key that we make (never a client's text). Disk with signed URLs of our own in
 * embedded mode, S3 with presigned URLs in a cluster.
 */
export interface Blobs {
  /** Stores the bytes; a key is written once. A stream is never held whole in memory. Returns the bytes stored. */
  put(key: string, body: Uint8Array | AsyncIterable<Uint8Array>): Promise<{ size: number }>;
  /** The bytes, or null when there is no such key. */
  get(key: string): Promise<Uint8Array | null>;
  /** Idempotent. */
  delete(key: string): Promise<void>;
  /** A URL that reads the blob without credentials for `validMs`, under `fileName` and `mimeType`. */
  presign(key: string, options: { validMs: number; fileName: string; mimeType: string }): Promise<string>;
}
