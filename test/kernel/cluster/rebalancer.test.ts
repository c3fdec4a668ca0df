import { expect, test } from 'vitest';
import { asIncarnation, asWorkerAddress } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import type { Directory, WorkerEntry } from '../../../src/kernel/cluster/directory.ts';
import { Rebalancer } from '../../../src/kernel/cluster/rebalancer.ts';
import { Workers } from '../../../src/kernel/cluster/workers.ts';
import { manualClock } from '../../support/manual-clock.ts';

const ROOMS = 200;
const entry = (name: string, load: number): WorkerEntry => ({
  incarnation: asIncarnation(name),
  address: asWorkerAddress(`${name}:1`),
  draining: false,
  load,
});
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A worker with 200 rooms and two others. */
function aCluster(loadOfOthers: number) {
  const clock = manualClock();
  const self = entry('me', ROOMS);
  const others = (load: number) => [entry('a', load), entry('b', load)];
  const redis = { isAway: false };
  const directory = {
    async heartbeat() {
      if (redis.isAway) throw new Error('no Redis');
      return [self, ...others(loadOfOthers)];
    },
  } as unknown as Directory;
  const findLeased = async () => [{ ...self, load: 0 }, ...others(0)];
  const workers = new Workers({ directory, clock, log: silentLog, self: () => self, findLeased });
  const moved: string[] = [];
  const keys = Array.from({ length: ROOMS }, (_, n) => `room ${n}`);
  const host = { movable: keys, move: async (key: string) => void moved.push(key) };
  new Rebalancer({ host, workers, self: self.address, clock, log: silentLog });
  const seconds = async (count: number): Promise<void> => {
    for (let second = 0; second < count; second += 1) {
      clock.advance(1_000);
      await settled();
    }
  };
  return { redis, moved, seconds };
}

test('[WK4] rooms move to workers that have clearly less, and none where all have as much', async () => {
  const uneven = aCluster(10);
  await uneven.seconds(21);
  expect(uneven.moved.length).toBeGreaterThan(0);
  const even = aCluster(ROOMS);
  await even.seconds(60);
  expect(even.moved).toEqual([]);
});

test('[WK4] no room moves while the directory is away, however long; once it is back they do again', async () => {
  const even = aCluster(ROOMS);
  await even.seconds(21);
  even.redis.isAway = true;
  await even.seconds(120);
  expect(even.moved).toEqual([]);
  const uneven = aCluster(10);
  uneven.redis.isAway = true;
  await uneven.seconds(60);
  expect(uneven.moved).toEqual([]);
  uneven.redis.isAway = false;
  await uneven.seconds(21);
  expect(uneven.moved.length).toBeGreaterThan(0);
});
