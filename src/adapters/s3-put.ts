/**
 * One body on its way into a bucket: in a single request, or in parts when it is larger than one. It does not know where the parts come from.
 *
 * An object is made only if there is none: `If-None-Match` in the last request, and a look beforehand for servers that ignore it there.
 */
import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';
import { PART_NUMBER_MAX } from '../kernel/persistence/blob-parts.ts';
import { type BodyPart, PART_BYTES } from './part-buffers.ts';
import { nullWhenAbsent, S3_TIME, type S3Bucket, statusOf } from './s3-bucket.ts';

interface S3PutOptions {
  readonly key: string;
  readonly bucket: S3Bucket;
  /** Shared by all puts: one that learns that the server does not know conditions tells the others. */
  readonly server: { isConditional: boolean };
  readonly log: Log;
}

/** `exists`: or is about to. */
type Outcome = 'stored' | 'exists';

/** With a full part of memory each. */
const SENDING_MAX = 3;
/** Of a body that one request carries, where others put the same key. */
const WHOLE_ATTEMPTS_MAX = 2;

export class S3Put {
  readonly #options: S3PutOptions;
  readonly #object: { Bucket: string; Key: string };
  #uploadId: string | null = null;
  /** Set when one request was enough, or nothing needs to be sent. */
  #outcome: Outcome | null = null;
  readonly #sending = new Set<Promise<void>>();
  readonly #givenUp = new AbortController();
  readonly #etags: string[] = [];
  #count = 0;
  #failure: unknown = null;

  constructor(options: S3PutOptions) {
    this.#options = options;
    this.#object = { Bucket: options.bucket.name, Key: options.key };
  }

  /** Takes the next part, and waits while enough are under way. */
  async take(part: BodyPart): Promise<void> {
    if (part.isLast && this.#count === 0) await this.#putWhole(part);
    else await this.#putPart(part);
  }

  async end(): Promise<Outcome> {
    if (this.#outcome !== null) return this.#outcome;
    await Promise.all(this.#sending);
    this.#throwFailure();
    return this.#complete();
  }

  /** Nothing more is sent, and what was is thrown away in the background; what remains even so `abortStale` finds. */
  giveUp(): void {
    this.#givenUp.abort();
    const { bucket, log, key } = this.#options;
    const UploadId = this.#uploadId;
    if (UploadId === null) return;
    Promise.all(this.#sending)
      .then(() =>
        bucket.ask('abort', (client, options) =>
          client.send(new AbortMultipartUploadCommand({ ...this.#object, UploadId }), options),
        ),
      )
      .catch((error: unknown) => log.debug({ err: error, key }, 'upload not aborted'));
  }

  async #putWhole({ bytes, release }: BodyPart): Promise<void> {
    try {
      this.#outcome = await this.#once(
        (condition) =>
          this.#options.bucket.ask('put', (client, options) =>
            client.send(new PutObjectCommand({ ...this.#object, ...condition, Body: bytes }), options),
          ),
        WHOLE_ATTEMPTS_MAX,
      );
    } finally {
      release();
    }
  }

  async #putPart(part: BodyPart): Promise<void> {
    try {
      if (this.#count === 0) await this.#start();
      while (this.#sending.size >= SENDING_MAX) await Promise.race(this.#sending);
      this.#throwFailure();
      this.#count += 1;
      if (this.#count > PART_NUMBER_MAX) throw tooLarge();
    } catch (error) {
      part.release();
      throw error;
    }
    if (this.#outcome === 'exists') {
      part.release();
      return;
    }
    const sending = this.#send(part, this.#count).finally(() => this.#sending.delete(sending));
    this.#sending.add(sending);
  }

  async #start(): Promise<void> {
    const { bucket } = this.#options;
    if ((await bucket.sizeOf(this.#object.Key)) !== null) {
      this.#outcome = 'exists';
      return;
    }
    const { UploadId } = await bucket.ask('start upload', (client, options) =>
      client.send(new CreateMultipartUploadCommand(this.#object), options),
    );
    this.#uploadId = UploadId!;
  }

  /** Never rejects: the next `take`, or `end`, throws. */
  async #send({ bytes, release }: BodyPart, partNumber: number): Promise<void> {
    const input = { ...this.#object, UploadId: this.#uploadId!, PartNumber: partNumber, Body: bytes };
    try {
      const { ETag } = await this.#options.bucket.ask(
        'put part',
        (client, options) => client.send(new UploadPartCommand(input), options),
        { signal: this.#givenUp.signal },
      );
      this.#etags[partNumber - 1] = ETag!;
    } catch (error) {
      this.#failure ??= error;
    } finally {
      release();
    }
  }

  async #complete(): Promise<Outcome> {
    const Parts = this.#etags.map((ETag, index) => ({ ETag, PartNumber: index + 1 }));
    const input = { ...this.#object, UploadId: this.#uploadId!, MultipartUpload: { Parts } };
    const outcome = await this.#once(
      (condition) =>
        this.#options.bucket
          .ask(
            'complete upload',
            (client, options) => client.send(new CompleteMultipartUploadCommand({ ...input, ...condition }), options),
            { withinMs: S3_TIME.completeMs },
          )
          .catch(nullWhenAbsent), // the upload is gone: an attempt whose answer was lost made the object; its size is looked at next
    );
    if (outcome === 'stored') this.#uploadId = null;
    return outcome;
  }

  /**
   * Sends under the condition that there is no such object. 409: somebody else, or an attempt of ours whose answer was lost, is putting it at this
   * moment; what comes of that is not known yet.
   */
  async #once(send: (condition: { IfNoneMatch?: '*' }) => Promise<unknown>, attemptsLeft = 1): Promise<Outcome> {
    const { server } = this.#options;
    try {
      await send(server.isConditional ? { IfNoneMatch: '*' } : {});
      return 'stored';
    } catch (error) {
      const status = statusOf(error);
      if (status === 409 && attemptsLeft > 1) return this.#once(send, attemptsLeft - 1);
      if (status === 412 || status === 409) return 'exists';
      if (status !== 501 || !server.isConditional) throw error;
      server.isConditional = false;
      return this.#once(send, attemptsLeft);
    }
  }

  #throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}

function tooLarge(): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', { what: 'The file', bytesMax: PART_NUMBER_MAX * PART_BYTES });
}
