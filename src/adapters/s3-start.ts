/**
 * Looks at the start whether a bucket can be used. A definite no refuses the start with a sentence; no answer does not: S3 is on the path of no
 * acknowledgement, and a server that waited for it would turn one outage into two.
 */
import { CreateBucketCommand, HeadBucketCommand } from '@aws-sdk/client-s3';
import type { Log } from '../base/observe.ts';
import { StartRefused } from '../base/start-refused.ts';
import { nameOf, type S3Bucket, statusOf } from './s3-bucket.ts';

interface StartCheckOptions {
  readonly bucket: S3Bucket;
  /** Absent: AWS. */
  readonly endpoint?: string | undefined;
  readonly region: string;
  /** What to do when there is no such bucket. */
  readonly missing: 'create' | 'refuse';
  readonly log: Log;
  /** How long an answer is waited for. */
  readonly patienceMs?: number;
}

const PATIENCE_MS = 8_000;
const AGAIN_MS = 500;
const REQUEST_MS = 3_000;

/** @throws StartRefused with one sentence that names the setting. */
export async function checkBucket(options: StartCheckOptions): Promise<void> {
  const { bucket, log, patienceMs = PATIENCE_MS } = options;
  const untilMs = performance.now() + patienceMs;
  for (;;) {
    const problem = await problemOf(options);
    if (problem === null) return;
    if (performance.now() + AGAIN_MS >= untilMs) {
      log.warn(
        {
          bucket: bucket.name,
          status: statusOf(problem),
          reason: nameOf(problem),
          said: String(problem),
          ...bucket.hintFor(problem),
        },
        'S3 does not answer; started without knowing whether its bucket can be used',
      );
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
}

/** Null when the bucket can be used, an error that may pass otherwise. @throws StartRefused */
async function problemOf(options: StartCheckOptions): Promise<unknown> {
  try {
    await head(options.bucket);
    return null;
  } catch (error) {
    if (statusOf(error) !== 404 || options.missing === 'refuse') return unlessDefinite(error, options);
  }
  try {
    await create(options);
    return null;
  } catch (error) {
    return unlessDefinite(error, options);
  }
}

async function head(bucket: S3Bucket): Promise<void> {
  await bucket.client.send(new HeadBucketCommand({ Bucket: bucket.name }), { abortSignal: AbortSignal.timeout(REQUEST_MS) });
}

/** Another worker may be faster. */
async function create({ bucket, endpoint, region, log }: StartCheckOptions): Promise<void> {
  const isElsewhere = endpoint === undefined && region !== 'us-east-1'; // AWS wants to be told, and the default not to be named
  const place = isElsewhere ? { CreateBucketConfiguration: { LocationConstraint: region as never } } : {};
  try {
    await bucket.client.send(new CreateBucketCommand({ Bucket: bucket.name, ...place }), {
      abortSignal: AbortSignal.timeout(REQUEST_MS),
    });
    log.info({ bucket: bucket.name }, 'bucket made');
  } catch (error) {
    if (nameOf(error) !== 'BucketAlreadyOwnedByYou') throw error;
  }
}

/** Returns the error when it may pass: no answer, or one of 5xx. @throws StartRefused */
function unlessDefinite(error: unknown, { bucket, endpoint, region }: StartCheckOptions): unknown {
  const status = statusOf(error);
  const where = endpoint === undefined ? `AWS in the region ${region}` : endpoint;
  const refuse = (sentence: string): StartRefused => new StartRefused(sentence, { cause: error });
  if (nameOf(error) === 'CredentialsProviderError') {
    throw refuse(
      'S3_BUCKET is set and no credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give this machine a role.',
    );
  }
  if (status === null || status >= 500 || status === 429) return error;
  if (status === 404) {
    throw refuse(`The bucket ${bucket.name} of S3_BUCKET does not exist at ${where}: make it, or set S3_CREATE_BUCKET to true.`);
  }
  if (status === 401 || status === 403) {
    throw refuse(
      `The bucket ${bucket.name} of S3_BUCKET refuses our credentials at ${where}: check the AWS credentials, their right to list the bucket, and this machine's clock.`,
    );
  }
  throw refuse(
    `The bucket ${bucket.name} of S3_BUCKET cannot be used at ${where} (${status} ${nameOf(error)}): check S3_ENDPOINT, S3_REGION and S3_FORCE_PATH_STYLE.`,
  );
}
