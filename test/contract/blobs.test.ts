import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { DiskBlobs } from '../../src/adapters/disk-blobs.ts';
import { S3Blobs } from '../../src/adapters/s3-blobs.ts';
import { checkBucket } from '../../src/adapters/s3-start.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { Blobs } from '../../src/kernel/persistence/blobs.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryBlobs } from '../support/memory-blobs.ts';
import { useS3 } from '../support/s3.ts';
import { blobPartsContract } from './blob-parts.contract.ts';
import { blobsContract } from './blobs.contract.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atrium-blobs-'));
});
afterAll(() => rm(directory, { recursive: true }));

const disk = async (): Promise<Blobs> => {
  const secret = new Uint8Array(32);
  return new DiskBlobs({
    directory,
    publicUrl: () => '',
    secrets: [secret],
    clock: manualClock(),
    random: systemRandom,
    log: silentLog,
  });
};
const memory = async (): Promise<Blobs> => memoryBlobs();

blobsContract('disk', disk);
blobPartsContract('disk', disk);
blobsContract('memory', memory);
blobPartsContract('memory', memory);

const s3 = await useS3();
describe.skipIf(!s3.isThere)('S3', () => {
  let blobs: S3Blobs;
  beforeAll(async () => {
    const options = { endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true, log: silentLog };
    blobs = new S3Blobs({ ...options, bucket: s3.newBucket() });
    await checkBucket({ ...options, bucket: blobs.bucket, missing: 'create' });
  });
  afterAll(() => blobs.close());

  blobsContract('S3', async () => blobs);
  blobPartsContract('S3', async () => blobs);
});
