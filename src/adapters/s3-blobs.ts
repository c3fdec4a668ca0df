/**
 * Blobs as objects of an S3 bucket, for clusters. Clients download them from there, under presigned URLs.
 *
 * Bodies larger than a part are sent as multipart uploads, a few parts at once. The server checks the SHA-256 of each request's body.
 */
import { createHash } from 'node:crypto';
import { DeleteObjectCommand, GetObjectCommand, type GetObjectCommandOutput } from '@aws-sdk/client-s3';
import { getSignedUrl } from '@aws-sdk/s3-request-presigner';
import { AppError } from '../base/errors.ts';
import {
  type BlobBody,
  type BlobStream,
  type Blobs,
  type ByteRange,
  type DownloadTerms,
  mustBeBlobKey,
  type StoredBlob,
} from '../kernel/persistence/blobs.ts';
import { attachment, safeMimeType } from '../kernel/transport/attachment.ts';
import { PartBuffers } from './part-buffers.ts';
import { nullWhenAbsent, S3_TIME, S3Bucket, type S3BucketOptions, statusOf } from './s3-bucket.ts';
import { S3Parts } from './s3-parts.ts';
import { S3Put } from './s3-put.ts';

export interface S3BlobsOptions extends S3BucketOptions {
  /** Under which clients reach the server, where it is not the one for us. */
  readonly publicEndpoint?: string | undefined;
}

const READ_ATTEMPTS_MAX = 3;
/** The longest that S3 signs for: seven days. */
const SIGNED_SECONDS_MAX = 604_800;

export class S3Blobs implements Blobs {
  readonly bucket: S3Bucket;
  readonly parts: S3Parts;
  readonly #signingFor: S3Bucket;
  readonly #buffers = new PartBuffers();
  readonly #options: S3BlobsOptions;
  /** Whether the server knows If-None-Match, until it says that it does not. */
  readonly #server = { isConditional: true };

  constructor(options: S3BlobsOptions) {
    this.#options = options;
    this.bucket = new S3Bucket(options);
    this.#signingFor =
      options.publicEndpoint === undefined ? this.bucket : new S3Bucket({ ...options, endpoint: options.publicEndpoint });
    this.parts = new S3Parts({ bucket: this.bucket, buffers: this.#buffers });
  }

  async put(key: string, body: BlobBody): Promise<StoredBlob> {
    const put = new S3Put({ key: mustBeBlobKey(key), bucket: this.bucket, server: this.#server, log: this.#options.log });
    const hash = createHash('sha256');
    let size = 0;
    try {
      for await (const part of this.#buffers.partsOf(body)) {
        hash.update(part.bytes);
        size += part.bytes.length;
        await put.take(part);
      }
      const outcome = await put.end();
      const stored = { size, sha256: hash.digest('hex') };
      if (outcome === 'exists') await this.#mustHold(key, stored);
      else if ((await this.bucket.sizeOf(key)) !== size)
        throw new AppError('BLOBS_UNAVAILABLE', { reason: 'the object is of another size' });
      return stored;
    } catch (error) {
      put.giveUp();
      throw error;
    }
  }

  /** A body that broke off, or is shorter than announced, is asked for again. */
  async get(key: string): Promise<Uint8Array | null> {
    for (let attempt = 1; ; attempt++) {
      const found = await this.read(key);
      if (found === null) return null;
      try {
        return await collect(found);
      } catch (error) {
        if (attempt === READ_ATTEMPTS_MAX) throw error;
      }
    }
  }

  async read(key: string, range?: ByteRange): Promise<BlobStream | null> {
    const input = {
      Bucket: this.bucket.name,
      Key: mustBeBlobKey(key),
      ...(range !== undefined && { Range: `bytes=${range.start}-${range.end}` }),
    };
    const found = await this.bucket
      .ask('get', (client, options) => client.send(new GetObjectCommand(input), options), { withinMs: S3_TIME.readMs })
      .catch(nullWhenAbsent)
      .catch(async (error: unknown) => {
        if (statusOf(error) === 416) throw new AppError('RANGE_NOT_SATISFIABLE', (await this.head(key)) ?? {});
        throw error;
      });
    return found === null ? null : this.#streamOf(found);
  }

  async head(key: string): Promise<{ size: number } | null> {
    mustBeBlobKey(key);
    const size = await this.bucket.sizeOf(key);
    return size === null ? null : { size };
  }

  async delete(key: string): Promise<void> {
    const input = { Bucket: this.bucket.name, Key: mustBeBlobKey(key) };
    await this.bucket
      .ask('delete', (client, options) => client.send(new DeleteObjectCommand(input), options))
      .catch(nullWhenAbsent);
  }

  async presign(key: string, { validMs, fileName, mimeType }: DownloadTerms): Promise<string> {
    const command = new GetObjectCommand({
      Bucket: this.bucket.name,
      Key: mustBeBlobKey(key),
      ResponseContentDisposition: attachment(fileName),
      ResponseContentType: safeMimeType(mimeType),
    });
    const expiresIn = Math.max(1, Math.min(SIGNED_SECONDS_MAX, Math.ceil(validMs / 1_000)));
    return getSignedUrl(this.#signingFor.client, command, { expiresIn });
  }

  close(): void {
    this.bucket.close();
    this.#signingFor.close();
  }

  /**
   * @throws AppError RESOURCE_ALREADY_EXISTS when other bytes are there than those that were to be put; BLOBS_UNAVAILABLE when nothing is there:
   * whoever is putting it may still fail.
   */
  async #mustHold(key: string, { size, sha256 }: StoredBlob): Promise<void> {
    const hash = createHash('sha256');
    const sizeThere = await this.bucket.sizeOf(key);
    if (sizeThere === null) throw new AppError('BLOBS_UNAVAILABLE', { reason: 'somebody else is putting it' });
    const found = sizeThere === size ? await this.read(key) : null;
    for await (const piece of found?.body ?? []) hash.update(piece);
    if (found === null || hash.digest('hex') !== sha256) throw new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'blob', id: key });
  }

  #streamOf({ Body, ContentLength, ContentRange }: GetObjectCommandOutput): BlobStream {
    const length = ContentLength ?? 0;
    const size = ContentRange === undefined ? length : Number(ContentRange.split('/')[1]);
    return { size, body: whole(Body as AsyncIterable<Uint8Array> | undefined, length) };
  }
}

/** The pieces of an answer, as many bytes as it announced. @throws AppError BLOBS_UNAVAILABLE when it breaks off. */
async function* whole(body: AsyncIterable<Uint8Array> | undefined, length: number): AsyncGenerator<Uint8Array> {
  let came = 0;
  try {
    for await (const piece of body ?? []) {
      came += piece.length;
      yield piece;
    }
  } catch (error) {
    throw new AppError('BLOBS_UNAVAILABLE', { reason: `the answer broke off: ${String(error)}` });
  }
  if (came !== length) throw new AppError('BLOBS_UNAVAILABLE', { reason: `${length} bytes were announced and ${came} came` });
}

/**
 * All of it, each piece written to its place as it comes: joined in the end, megabytes would lie in memory twice.
 * @throws AppError BLOBS_UNAVAILABLE when it takes too long, or is not as long as announced.
 */
async function collect({ size, body }: BlobStream): Promise<Uint8Array> {
  const bytes = new Uint8Array(size);
  let came = 0;
  const untilMs = performance.now() + S3_TIME.bodyMs;
  for await (const piece of body) {
    if (performance.now() > untilMs) throw new AppError('BLOBS_UNAVAILABLE', { reason: `no end within ${S3_TIME.bodyMs} ms` });
    if (came + piece.length > size) throw new AppError('BLOBS_UNAVAILABLE', { reason: `more than the ${size} bytes announced` });
    bytes.set(piece, came);
    came += piece.length;
  }
  return bytes;
}
