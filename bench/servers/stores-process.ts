/** Postgres, Redis and S3 of a cluster, empty, in one process that ends with the bench and takes them along. Tells where they are as settings. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startStores } from '../../test/chaos/stores.ts';

const folder = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
const stores = await startStores(folder).catch(async (error: unknown) => {
  await rm(folder, { recursive: true, force: true });
  throw error;
});
const { postgres, redis, s3 } = stores;

async function end(): Promise<void> {
  await stores.stop();
  await rm(folder, { recursive: true, force: true });
  process.exit(0);
}

process.once('SIGTERM', end);
process.once('disconnect', end); // the runner is gone
process.send!({
  DATABASE_URL: postgres.url('postgres'),
  REDIS_URL: `redis://${redis.address}`,
  S3_BUCKET: 'bench',
  S3_CREATE_BUCKET: 'true',
  S3_ENDPOINT: `http://127.0.0.1:${s3.port}`,
  S3_FORCE_PATH_STYLE: 'true',
  AWS_ACCESS_KEY_ID: s3.accessKey,
  AWS_SECRET_ACCESS_KEY: s3.secretKey,
});
