import { afterEach, describe, expect, test } from 'vitest';
import { openRedisDirectory } from '../../src/adapters/redis-directory.ts';
import { systemClock } from '../../src/base/clock.ts';
import { asIncarnation, asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { Directory, Location, WorkerEntry } from '../../src/kernel/cluster/directory.ts';
import { until } from '../support/e2e/until.ts';
import { aRedisPrefix, type RedisNode, useRedisCluster, useSentinel } from '../support/redis.ts';
import { services } from '../support/services.ts';

const entryOf = (name: string): WorkerEntry => ({
  incarnation: asIncarnation(name),
  address: asWorkerAddress('127.0.0.1:1'),
  draining: false,
  load: 0,
});
const locationOf = (epoch: number, key = 'a'): Location => ({
  key,
  incarnation: asIncarnation('one'),
  address: asWorkerAddress('127.0.0.1:1'),
  epoch,
});
const [one, other] = [entryOf('one'), entryOf('other')];
const FAILOVER = { timeoutMs: 25_000 };

const opened: Directory[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((directory) => directory.close()));
});

async function open(url: string, prefix = aRedisPrefix()): Promise<Directory> {
  const directory = openRedisDirectory({ url, prefix, clock: systemClock, log: silentLog });
  opened.push(directory);
  await until('it is connected', () => directory.heartbeat(one));
  return directory;
}

describe.skipIf(!services.isOurs('redis'))('Redis under Sentinel', () => {
  const sentinel = useSentinel();

  test('[RD23] a failover that loses writes takes hints back, and nothing else: heartbeats return, newer epochs still win', async () => {
    const { url, master, replica, cutReplica } = await sentinel.start();
    const prefix = aRedisPrefix();
    const [directory, neighbour] = [await open(url, prefix), await open(url, prefix)];
    await directory.publish(locationOf(5));
    await until('the replica has it', async () => (await replica.ask('exists', `{${prefix}:loc:a}`)) === '1\n');
    await cutReplica();
    await directory.publish(locationOf(9));
    await directory.publish(locationOf(1, 'b'));
    await neighbour.heartbeat(other);
    expect(await directory.locate('a')).toEqual(locationOf(9));
    await master.stop();

    await until('the replica is promoted', () => directory.heartbeat(one), FAILOVER);
    expect(await replica.ask('role')).toMatch(/^master/);
    expect([await directory.locate('a'), await directory.locate('b')]).toEqual([locationOf(5), null]);
    await until('the neighbour is back', () => neighbour.heartbeat(other));
    expect(await directory.heartbeat(one)).toHaveLength(2);
    await directory.publish(locationOf(4));
    expect(await directory.locate('a')).toEqual(locationOf(5));
    await directory.publish(locationOf(9));
    expect(await directory.locate('a')).toEqual(locationOf(9));
  });

  test('[RD24] a master that freezes is left for the promoted one, and left alone when it is back as a replica', async () => {
    const { url, master, replica } = await sentinel.start();
    const directory = await open(url);
    master.freeze();
    try {
      await until('the replica is promoted', () => directory.heartbeat(one), FAILOVER);
      expect(await replica.ask('role')).toMatch(/^master/);
    } finally {
      master.thaw();
    }
    await until('the old master follows', async () => /^slave/.test(await master.ask('role')), FAILOVER);
    await directory.publish(locationOf(1));
    expect(await directory.locate('a')).toEqual(locationOf(1));
  });
});

describe.skipIf(!services.isOurs('redis'))('Redis Cluster', () => {
  const cluster = useRedisCluster();

  /** The cluster, the node that has the heartbeats, another one, and a key that is on it. */
  async function start() {
    const { url, nodes } = await cluster.start();
    const prefix = aRedisPrefix();
    const directory = await open(url, prefix);
    const holding = async (key: string): Promise<RedisNode> => {
      const found = await Promise.all(nodes.map((node) => node.ask('exists', key)));
      return nodes[found.indexOf('1\n')]!;
    };
    const workersOn = await holding(`{${prefix}:workers}`);
    for (let each = 0; ; each += 1) {
      await directory.publish(locationOf(1, `room-${each}`));
      const node = await holding(`{${prefix}:loc:room-${each}}`);
      if (node !== workersOn) return { nodes, directory, elsewhere: { node, key: `room-${each}` } };
    }
  }

  test('[RD25] a node that is frozen, or gone, takes its hints along and disturbs no others; it is used again when it is back', async () => {
    const { directory, elsewhere } = await start();
    const isBack = () => until('it is back', () => directory.publish(locationOf(2, elsewhere.key)).then(() => true), FAILOVER);
    const fails = async (): Promise<void> => {
      for (let beats = 0; beats < 5; beats += 1) {
        await expect(directory.locate(elsewhere.key)).rejects.toThrow('is away');
        expect(await directory.heartbeat(one)).toEqual([one]);
      }
    };
    elsewhere.node.freeze();
    await fails();
    elsewhere.node.thaw();
    await isBack();
    await elsewhere.node.stop();
    await fails();
    await elsewhere.node.start();
    await isBack();
    expect(await directory.locate(elsewhere.key)).toEqual(locationOf(2, elsewhere.key));
  });

  test('[RD26] a cluster that freezes or goes as a whole is used again when it is back', async () => {
    const { nodes, directory } = await start();
    for (const node of nodes) node.freeze();
    await expect(directory.heartbeat(one)).rejects.toThrow('is away');
    for (const node of nodes) node.thaw();
    expect(await until('it answers', () => directory.heartbeat(one), FAILOVER)).toEqual([one]);
    await Promise.all(nodes.map((node) => node.stop()));
    await expect(directory.heartbeat(one)).rejects.toThrow('is away');
    await Promise.all(nodes.map((node) => node.start()));
    expect(await until('it answers', () => directory.heartbeat(one), FAILOVER)).toEqual([one]);
    await directory.publish(locationOf(1));
    expect(await directory.locate('a')).toEqual(locationOf(1));
  });
});
