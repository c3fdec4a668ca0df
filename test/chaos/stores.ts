/** What all nodes share and what outlives a run: Postgres, Redis and S3, real ones, each with a database, a name space and a bucket for every run. */
import { execFileSync } from 'node:child_process';
import { chmod, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { aRedisPort, type RedisNode, redisCommand, redisNode } from '../support/redis-node.ts';
import { PostgresProcess } from './postgres-process.ts';
import { RgwProcess } from './rgw-process.ts';

export interface Stores {
  readonly postgres: PostgresProcess;
  readonly redis: RedisNode;
  readonly s3: RgwProcess;
  stop(): Promise<void>;
}

const BINARIES = ['redis-server', 'redis-cli', 'radosgw', 'ceph-mon', 'ceph-osd'];

/** @throws an Error that says what is missing on this machine */
export async function startStores(folder: string): Promise<Stores> {
  const missing = BINARIES.filter((name) => !isOnPath(name));
  if (missing.length > 0)
    throw new Error(`${missing.join(', ')}: not found. As root, \`npm test\` installs them (see CONTRIBUTING).`);
  const started: (() => Promise<void>)[] = [];
  const stop = async (): Promise<void> => {
    for (const one of started.reverse()) await one();
  };
  try {
    const redisFolder = join(folder, 'redis');
    await mkdir(redisFolder, { recursive: true });
    await chmod(folder, 0o711); // Postgres may run as another user
    const s3 = RgwProcess.start(join(folder, 's3')).then((rgw) => {
      started.push(() => rgw.stop());
      return rgw;
    });
    s3.catch(() => undefined); // awaited below
    const postgres = await PostgresProcess.start(folder);
    started.push(() => postgres.stopAtOnce());
    const redisPort = await aRedisPort();
    const redis = redisNode(redisCommand(redisPort), { port: redisPort, directory: redisFolder });
    await redis.start();
    started.push(() => redis.stop());
    return { postgres, redis, s3: await s3, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function isOnPath(name: string): boolean {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' });
    return true;
  } catch {
    return false; // the shell found none
  }
}
