/** Uploads in parts as multipart uploads of S3, whose rules are those of the port. */
import { Readable } from 'node:stream';
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  type ListMultipartUploadsCommandInput,
  type ListMultipartUploadsCommandOutput,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { AppError } from '../base/errors.ts';
import {
  type BlobParts,
  countedBody,
  mustBePartNumber,
  mustMatchParts,
  type NamedPart,
  noSuchUpload,
  type PartsUpload,
  plainEtag,
  type SizeLimits,
  type UploadedPart,
} from '../kernel/persistence/blob-parts.ts';
import { type BlobBody, mustBeBlobKey } from '../kernel/persistence/blobs.ts';
import { PART_BYTES, type PartBuffers } from './part-buffers.ts';
import { nullWhenAbsent, S3_TIME, type S3Bucket, statusOf } from './s3-bucket.ts';

interface S3PartsOptions {
  readonly bucket: S3Bucket;
  readonly buffers: PartBuffers;
}

/** All our keys begin so; a bucket may hold more. */
const OUR_PREFIX = 'v1/';
const STALE_AT_ONCE_MAX = 5_000;

export class S3Parts implements BlobParts {
  readonly #options: S3PartsOptions;

  constructor(options: S3PartsOptions) {
    this.#options = options;
  }

  async start(key: string): Promise<PartsUpload> {
    const { bucket } = this.#options;
    const input = { Bucket: bucket.name, Key: mustBeBlobKey(key) };
    const { UploadId } = await bucket.ask('start upload', (client, options) =>
      client.send(new CreateMultipartUploadCommand(input), options),
    );
    return { key, uploadId: UploadId! };
  }

  /** Up to the smallest size of a part it is kept until S3 has it, and tried again; what is larger passes through once. */
  async put(upload: PartsUpload, partNumber: number, { body, size }: { body: BlobBody; size?: number }): Promise<UploadedPart> {
    mustBePartNumber(partNumber);
    const counted = countedBody(body, size);
    if (size !== undefined && size > PART_BYTES) return this.#passThrough(upload, partNumber, { body: counted, size });
    for await (const part of this.#options.buffers.partsOf(counted)) {
      try {
        return await this.#send(upload, partNumber, { body: part.bytes, size: part.bytes.length });
      } finally {
        part.release();
      }
    }
    throw new Error('a body has a first part');
  }

  async complete(upload: PartsUpload, parts: readonly NamedPart[], limits: SizeLimits): Promise<{ size: number }> {
    const inOrder = mustMatchParts(await this.#list(upload), parts, limits);
    const size = inOrder.reduce((sum, part) => sum + part.size, 0);
    const input = {
      ...this.#idOf(upload),
      MultipartUpload: { Parts: inOrder.map(({ partNumber, etag }) => ({ PartNumber: partNumber, ETag: `"${etag}"` })) },
    };
    await this.#options.bucket
      .ask('complete upload', (client, options) => client.send(new CompleteMultipartUploadCommand(input), options), {
        withinMs: S3_TIME.completeMs,
      })
      .catch(nullWhenAbsent); // an attempt whose answer was lost made the object
    const made = await this.#options.bucket.sizeOf(upload.key);
    if (made === null) throw noSuchUpload(upload);
    if (made !== size) throw new AppError('BLOBS_UNAVAILABLE', { reason: 'the object is of another size' });
    return { size };
  }

  async abort(upload: PartsUpload): Promise<void> {
    if (upload.uploadId === '') return;
    await this.#options.bucket
      .ask('abort', (client, options) => client.send(new AbortMultipartUploadCommand(this.#idOf(upload)), options))
      .catch(nullWhenAbsent);
  }

  async abortStale({ beforeMs }: { beforeMs: number }): Promise<number> {
    const { bucket } = this.#options;
    const stale: PartsUpload[] = [];
    let after: Pick<ListMultipartUploadsCommandInput, 'KeyMarker' | 'UploadIdMarker'> | null = {};
    while (after !== null && stale.length < STALE_AT_ONCE_MAX) {
      const input = { Bucket: bucket.name, Prefix: OUR_PREFIX, ...after };
      const page: ListMultipartUploadsCommandOutput = await bucket.ask('list uploads', (client, options) =>
        client.send(new ListMultipartUploadsCommand(input), options),
      );
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        const isStale = Initiated !== undefined && Initiated.getTime() < beforeMs;
        if (isStale && Key !== undefined && UploadId !== undefined) stale.push({ key: Key, uploadId: UploadId });
      }
      after = page.IsTruncated === true ? { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker } : null;
    }
    for (const upload of stale) await this.abort(upload);
    return stale.length;
  }

  async #list(upload: PartsUpload): Promise<UploadedPart[]> {
    const parts: UploadedPart[] = [];
    let after: string | undefined;
    do {
      const input = { ...this.#idOf(upload), ...(after !== undefined && { PartNumberMarker: after }) };
      const page = await this.#options.bucket
        .ask('list parts', (client, options) => client.send(new ListPartsCommand(input), options))
        .catch(nullWhenAbsent);
      if (page === null) throw noSuchUpload(upload);
      for (const { PartNumber, ETag, Size } of page.Parts ?? [])
        parts.push({ partNumber: PartNumber!, etag: plainEtag(ETag!), size: Size! });
      after = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
    } while (after !== undefined);
    return parts;
  }

  /** When the sender breaks off, so does the request: the SDK would wait for more. */
  async #passThrough(
    upload: PartsUpload,
    partNumber: number,
    { body, size }: { body: AsyncIterable<Uint8Array>; size: number },
  ): Promise<UploadedPart> {
    const source = Readable.from(copiesOf(body), { objectMode: false });
    const broken = new AbortController();
    let reason: unknown = null;
    source.once('error', (error) => {
      reason = error;
      broken.abort();
    });
    try {
      return await this.#send(
        upload,
        partNumber,
        { body: source, size },
        { withinMs: S3_TIME.passThroughMs, signal: broken.signal },
      );
    } catch (error) {
      throw reason ?? error;
    } finally {
      source.destroy();
    }
  }

  async #send(
    upload: PartsUpload,
    partNumber: number,
    { body, size }: { body: Uint8Array | Readable; size: number },
    patience?: { withinMs: number; signal: AbortSignal },
  ): Promise<UploadedPart> {
    const input = { ...this.#idOf(upload), PartNumber: partNumber, Body: body, ContentLength: size };
    try {
      const { ETag } = await this.#options.bucket.ask(
        'put part',
        (client, options) => client.send(new UploadPartCommand(input), options),
        patience,
      );
      return { partNumber, etag: plainEtag(ETag!), size };
    } catch (error) {
      throw statusOf(error) === 404 ? noSuchUpload(upload) : error;
    }
  }

  /** With an empty id these requests would be about the object itself: its deletion, for one. */
  #idOf(upload: PartsUpload): { Bucket: string; Key: string; UploadId: string } {
    if (upload.uploadId === '') throw noSuchUpload(upload);
    return { Bucket: this.#options.bucket.name, Key: mustBeBlobKey(upload.key), UploadId: upload.uploadId };
  }
}

/** A stream hands pieces on, and asks for the next, before they have left. */
async function* copiesOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const piece of body) yield new Uint8Array(piece);
}
