import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe } from 'vitest';
import { MemoryDirectory } from '../../src/adapters/memory-directory.ts';
import { openRedisDirectory } from '../../src/adapters/redis-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asIncarnation } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { Directory } from '../../src/kernel/cluster/directory.ts';
import { until } from '../support/e2e/until.ts';
import { manualClock } from '../support/manual-clock.ts';
import { aRedisPrefix, useRedis, useRedisCluster, useSentinel } from '../support/redis.ts';
import { services } from '../support/services.ts';
import { type DirectoryUnderTest, directoryContract } from './directory.contract.ts';

directoryContract('memory', async () => {
  const clock = manualClock();
  return { directory: new MemoryDirectory({ clock }), wait: async () => clock.advance(100), nowMs: clock.monotonicMs };
});

describe.skipIf(!services.has('redis'))('Redis', () => {
  const redis = useRedis();
  directoryContract('Redis', async () => onRedis(await redis.url()));
});

describe.skipIf(!services.isOurs('redis'))('Redis of several nodes', () => {
  const sentinel = once(useSentinel().start);
  directoryContract('Redis under Sentinel', async () => onRedis((await sentinel()).url));

  const cluster = once(useRedisCluster().start);
  directoryContract('Redis Cluster', async () => onRedis((await cluster()).url));
});

const opened: Directory[] = [];
afterAll(() => Promise.all(opened.map((directory) => directory.close())));

async function onRedis(url: string): Promise<DirectoryUnderTest> {
  const directory = openRedisDirectory({ url, prefix: aRedisPrefix(), clock: systemClock, log: silentLog });
  opened.push(directory);
  await until('it is connected', () => directory.leave(asIncarnation('nobody')).then(() => true));
  // Redis ages workers by its own clock, which no test can move.
  return { directory, wait: () => sleep(100), nowMs: systemClock.monotonicMs };
}

function once<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let made: Promise<Result> | null = null;
  return () => {
    made ??= make();
    return made;
  };
}
