/**
 * One bucket of an S3 server: requests that end, with an answer or without, in bounded time. It knows no blobs.
 *
 * The SDK tries each request three times by itself. What it cannot get becomes BLOBS_UNAVAILABLE, except for answers that a caller may expect.
 */
import { HeadObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';
import { Deadline } from './deadline.ts';

export interface S3BucketOptions {
  readonly bucket: string;
  /** Absent: AWS. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  readonly forcePathStyle: boolean;
  readonly log: Log;
}

export const S3_TIME = {
  connectMs: 2_000,
  /** A connection on which nothing moves is given up. */
  silenceMs: 5_000,
  /** The answer to a read begins within that, so that who waits for a room is still there (8 s over the bus) when it is read from an older snapshot and the journal instead. */
  readMs: 7_000,
  /** One request with all its attempts; a drain waits for it. */
  requestMs: 15_000,
  /** Making one object of many parts. */
  completeMs: 60_000,
  /** A body as a whole, however slowly it moves. */
  bodyMs: 120_000,
  /** A part that passes through from a client, at its pace. */
  passThroughMs: 600_000,
} as const;
if (!(S3_TIME.silenceMs < S3_TIME.readMs)) throw new Error('S3: a read must outlast a connection that hangs');
if (!(S3_TIME.silenceMs * 2 < S3_TIME.requestMs)) throw new Error('S3: a request must have time for a second attempt');

const ATTEMPTS_MAX = 3;
const CONNECTIONS_MAX = 64;

interface Asking {
  readonly withinMs?: number;
  /** Gives up earlier. */
  readonly signal?: AbortSignal;
  /** What an answer of 404 is called that a caller may expect. */
  readonly absentAs?: ReadonlySet<string>;
}

/** As S3 says it. A 404 under another name is of somebody who stands before it, as a proxy whose server is away, and says nothing of what is there. */
const NAMED_ABSENT: ReadonlySet<string> = new Set(['NoSuchKey', 'NoSuchUpload']);
/** What the SDK calls a 404 without a body, the only one that a HEAD can bring. */
const NAMELESS_ABSENT: ReadonlySet<string> = new Set(['NotFound']);

export class S3Bucket {
  readonly name: string;
  readonly client: S3Client;
  readonly #log: Log;
  /** Its name is asked of the DNS, as part of the name of a server that is not AWS. */
  readonly #isInHostName: boolean;

  constructor({ bucket, endpoint, region, forcePathStyle, log }: S3BucketOptions) {
    this.name = bucket;
    this.#log = log;
    this.#isInHostName = endpoint !== undefined && !forcePathStyle;
    process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED ??= 'true'; // lines of its own on standard error; which Node serves is ours to say
    this.client = new S3Client({
      region,
      forcePathStyle,
      ...(endpoint !== undefined && { endpoint }),
      maxAttempts: ATTEMPTS_MAX,
      // Bodies are signed with their SHA-256, which every server checks; other checksums are newer than many servers.
      requestChecksumCalculation: 'WHEN_REQUIRED',
      responseChecksumValidation: 'WHEN_REQUIRED',
      logger: clientLog(log),
      expectContinueHeader: false, // it would cost a connection for each part
      requestHandler: {
        connectionTimeout: S3_TIME.connectMs,
        socketTimeout: S3_TIME.silenceMs,
        httpAgent: { keepAlive: true, maxSockets: CONNECTIONS_MAX },
        httpsAgent: { keepAlive: true, maxSockets: CONNECTIONS_MAX },
      },
    });
  }

  /**
   * Resolves with the head of the answer; a body may still come.
   * @throws the SDK's error when the server said 404 in S3's own words, 409, 412, 416 or 501, see `statusOf`, or when `signal` gave up; AppError
   * BLOBS_UNAVAILABLE for everything else.
   */
  async ask<Reply>(
    what: string,
    send: (client: S3Client, options: { abortSignal: AbortSignal }) => Promise<Reply>,
    { withinMs = S3_TIME.requestMs, signal, absentAs = NAMED_ABSENT }: Asking = {},
  ): Promise<Reply> {
    const deadline = new Deadline(withinMs, signal);
    try {
      return await send(this.client, { abortSignal: deadline.signal });
    } catch (error) {
      const status = statusOf(error);
      const isExpected = status === 404 ? absentAs.has(nameOf(error)) : status !== null && EXPECTED.has(status);
      if (isExpected || signal?.aborted === true) throw error;
      const reason = deadline.isLate ? `no answer within ${withinMs} ms` : nameOf(error);
      this.#log.warn({ request: what, status, reason, said: String(error), ...this.hintFor(error) }, 'S3 request failed');
      throw new AppError('BLOBS_UNAVAILABLE', { reason });
    } finally {
      deadline.end();
    }
  }

  /** Of an object; null when there is none. */
  async sizeOf(key: string): Promise<number | null> {
    const input = { Bucket: this.name, Key: key };
    const found = await this.ask('head', (client, options) => client.send(new HeadObjectCommand(input), options), {
      absentAs: NAMELESS_ABSENT,
    }).catch(nullWhenAbsent);
    return found === null ? null : (found.ContentLength ?? 0);
  }

  /** For the log: what is most likely wrong with the settings, where that can be told. */
  hintFor(error: unknown): { hint?: string } {
    const isNoName = ['ENOTFOUND', 'EAI_AGAIN'].includes(nameOf(error));
    return isNoName && this.#isInHostName
      ? { hint: 'the bucket is taken for a part of the host name: set S3_FORCE_PATH_STYLE to true' }
      : {};
  }

  close(): void {
    this.client.destroy();
  }
}

/** The SDK would speak to the console; of failed requests, with all that was in them, we speak ourselves. */
function clientLog(log: Log): { debug(): void; info(): void; warn(text: unknown): void; error(): void } {
  const nothing = (): void => undefined;
  return { debug: nothing, info: nothing, error: nothing, warn: (text) => log.debug({ said: String(text) }, 'S3 client warns') };
}

const EXPECTED: ReadonlySet<number> = new Set([409, 412, 416, 501]);

/** The status that the server answered; null when it did not. */
export function statusOf(error: unknown): number | null {
  return (error as { $metadata?: { httpStatusCode?: number } }).$metadata?.httpStatusCode ?? null;
}

/** S3's own name for an error, or Node's. */
export function nameOf(error: unknown): string {
  const { name, code } = error as { name?: string; code?: string };
  return code ?? name ?? 'unknown';
}

/** For requests to which 404 is an answer. */
export function nullWhenAbsent(error: unknown): null {
  if (statusOf(error) === 404) return null;
  throw error;
}
