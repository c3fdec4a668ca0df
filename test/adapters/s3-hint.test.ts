/** What the log says when the name of a bucket cannot be found: no server is needed for that. */
import { expect, onTestFinished, test } from 'vitest';
import { S3Bucket } from '../../src/adapters/s3-bucket.ts';
import { checkBucket } from '../../src/adapters/s3-start.ts';
import { silentLog } from '../../src/base/observe.ts';

const noSuchName = async (): Promise<never> => {
  throw Object.assign(new Error('getaddrinfo ENOTFOUND rooms.minio'), { code: 'ENOTFOUND' });
};

async function hints(options: { endpoint: string | undefined; forcePathStyle: boolean }): Promise<(string | undefined)[]> {
  const said: (string | undefined)[] = [];
  const log = Object.assign(Object.create(silentLog), { warn: ({ hint }: { hint?: string }) => said.push(hint) });
  const bucket = new S3Bucket({ bucket: 'rooms', region: 'us-east-1', log, ...options });
  onTestFinished(() => bucket.close());
  bucket.client.send = noSuchName;
  await checkBucket({ bucket, endpoint: options.endpoint, region: 'us-east-1', missing: 'refuse', log, patienceMs: 0 });
  await expect(bucket.ask('get', noSuchName)).rejects.toMatchObject({ code: 'BLOBS_UNAVAILABLE' });
  return said;
}

test.each([
  ['another server', { endpoint: 'http://minio:9000', forcePathStyle: false }, expect.stringContaining('S3_FORCE_PATH_STYLE')],
  ['another server, the bucket in the path', { endpoint: 'http://minio:9000', forcePathStyle: true }, undefined],
  ['AWS', { endpoint: undefined, forcePathStyle: false }, undefined],
])(
  '[BL19] a host that is not found, with the bucket in its name, has the log name S3_FORCE_PATH_STYLE: %s',
  async (_, options, hint) => {
    expect(await hints(options)).toEqual([hint, hint]);
  },
);
