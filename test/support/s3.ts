/** S3 for a test file: a bucket of its own on the server of the run, or on that of the environment, behind a way that the file can break. */
import { randomBytes } from 'node:crypto';
import { afterAll } from 'vitest';
import { FaultyHttp } from './faulty-http.ts';
import { type S3Server, sharedRgw } from './rgw.ts';
import { services } from './services.ts';

export interface TestS3 {
  /** Whether there is one; without it the tests are to be skipped: `describe.skipIf(!s3.isThere)`. */
  readonly isThere: boolean;
  /** Whether it can be broken: the one of the environment cannot. */
  readonly canBreak: boolean;
  /** Where to reach it: through the way, where that can be broken. */
  readonly endpoint: string;
  readonly way: FaultyHttp;
  /** A name for a new bucket. */
  newBucket(): string;
  /** The settings and credentials for a server process, or for `readSettings`. */
  settings(bucket: string): Record<string, string>;
}

/** `const s3 = await useS3()` at the top of a test file. The credentials are in the environment of its process from then on. */
export async function useS3(): Promise<TestS3> {
  const isThere = services.has('ceph');
  const server = isThere ? await s3Server() : { endpoint: 'http://127.0.0.1:1', accessKey: '', secretKey: '' };
  const way = new FaultyHttp(server.endpoint);
  await way.start();
  afterAll(() => way.stop());
  Object.assign(process.env, credentialsOf(server));
  const canBreak = isThere && services.given('ceph') === null;
  const endpoint = canBreak ? way.url : server.endpoint;
  return {
    isThere,
    canBreak,
    endpoint,
    way,
    newBucket: () => `atrium-test-${randomBytes(8).toString('hex')}`,
    settings: (bucket) => settingsFor({ ...server, endpoint }, bucket),
  };
}

/** Settings of a server that uses the bucket, with credentials in the environment of this process. For who cannot call `useS3`. */
export async function s3Settings(bucket: string): Promise<Record<string, string>> {
  const server = await s3Server();
  Object.assign(process.env, credentialsOf(server));
  return settingsFor(server, bucket);
}

async function s3Server(): Promise<S3Server> {
  const given = services.given('ceph');
  return given === null ? sharedRgw() : fromEnvironment(given);
}

function settingsFor(server: S3Server, bucket: string): Record<string, string> {
  return {
    S3_BUCKET: bucket,
    S3_ENDPOINT: server.endpoint,
    S3_FORCE_PATH_STYLE: 'true',
    S3_CREATE_BUCKET: 'true',
    ...credentialsOf(server),
  };
}

function credentialsOf({ accessKey, secretKey }: S3Server): Record<string, string> {
  return { AWS_ACCESS_KEY_ID: accessKey, AWS_SECRET_ACCESS_KEY: secretKey };
}

function fromEnvironment(endpoint: string): S3Server {
  const { TEST_S3_ACCESS_KEY: accessKey, TEST_S3_SECRET_KEY: secretKey } = process.env;
  if (accessKey === undefined || secretKey === undefined)
    throw new Error('TEST_S3_ENDPOINT is set; set TEST_S3_ACCESS_KEY and TEST_S3_SECRET_KEY too');
  return { endpoint, accessKey, secretKey };
}
