import { afterEach, describe, expect, test } from 'vitest';
import { openRedisDirectory, type RedisDirectoryOptions } from '../../src/adapters/redis-directory.ts';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { asIncarnation, asWorkerAddress } from '../../src/base/ids.ts';
import type { Log } from '../../src/base/observe.ts';
import type { Directory, Location, WorkerEntry } from '../../src/kernel/cluster/directory.ts';
import { until } from '../support/e2e/until.ts';
import { manualClock } from '../support/manual-clock.ts';
import { aRedisPrefix, useNodes, useRedis } from '../support/redis.ts';
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

const opened: Directory[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((directory) => directory.close()));
});

interface Opened {
  readonly directory: Directory;
  readonly prefix: string;
  /** What it logged: level, phrase, and the message of the error. */
  readonly lines: string[];
}

function open(url: string, options: { clock?: Clock; prefix?: string } = {}): Opened {
  const { clock = systemClock, prefix = aRedisPrefix() } = options;
  const lines: string[] = [];
  const write =
    (level: string) =>
    ({ err }: { err?: Error }, phrase: string): void =>
      void lines.push([level, phrase, ...(err === undefined ? [] : [err.message])].join(': '));
  const log = { warn: write('warn'), info: write('info') } as unknown as Log;
  const directory = openRedisDirectory({ url, prefix, clock, log } satisfies RedisDirectoryOptions);
  opened.push(directory);
  return { directory, prefix, lines };
}

/** As `open`, and waits for the connection, which may take longer on a busy machine than a call would wait. */
async function openConnected(url: string, options: { clock?: Clock; prefix?: string } = {}): Promise<Opened> {
  const made = open(url, options);
  await until('it is connected', () => made.directory.leave(one.incarnation).then(() => true));
  made.lines.splice(0);
  return made;
}

const everyCall = (directory: Directory): (() => Promise<unknown>)[] => [
  () => directory.heartbeat(one),
  () => directory.leave(one.incarnation),
  () => directory.locate('a'),
  () => directory.publish(locationOf(1)),
  () => directory.retract(locationOf(1)),
];
const answers = (directory: Directory): Promise<WorkerEntry[]> => until('Redis answers', () => directory.heartbeat(one));

describe.skipIf(!services.isOurs('redis'))('Redis with faults', () => {
  const redis = useRedis();

  test('[RD13] a directory opens while Redis is away; every call rejects, and answers once Redis is there', async () => {
    const node = await redis.node();
    await node.stop();
    const { directory, lines } = open(await redis.url());
    for (const call of everyCall(directory)) await expect(call()).rejects.toThrow('the directory is away');
    await node.start();
    expect(await answers(directory)).toEqual([one]);
    for (const call of everyCall(directory)) await call();
    expect(lines.filter((line) => line.startsWith('warn'))).toEqual([expect.stringMatching(/Redis is away.*ECONNREFUSED/)]);
  });

  test('[RD14] its going and its return are one line each in the log, however many calls fail', async () => {
    const node = await redis.node();
    const clock = manualClock();
    const { directory, lines } = await openConnected(await redis.url(), { clock });
    await directory.heartbeat(one);
    await node.stop();
    for (const call of [...everyCall(directory), ...everyCall(directory)]) await expect(call()).rejects.toThrow('is away');
    await node.start();
    await answers(directory);
    clock.advance(1_999);
    await directory.heartbeat(one);
    expect(lines).toEqual([expect.stringMatching(/^warn: Redis is away/)]);
    clock.advance(1);
    await directory.heartbeat(one);
    await directory.heartbeat(one);
    expect(lines.slice(1)).toEqual(['info: Redis is back']);
  });

  test('[RD15] a Redis that starts empty needs no repair: heartbeats and publications fill it', async () => {
    const node = await redis.node();
    const { directory, prefix } = await openConnected(await redis.url());
    const neighbour = (await openConnected(await redis.url(), { prefix })).directory;
    await neighbour.heartbeat(other);
    await directory.publish(locationOf(7));
    expect(await directory.heartbeat(one)).toHaveLength(2);
    await node.stop();
    await node.start();
    expect(await answers(directory)).toEqual([one]);
    expect(await directory.locate('a')).toBeNull();
    await until('the neighbour is back', () => neighbour.heartbeat(other));
    expect(await directory.heartbeat(one)).toHaveLength(2);
    await directory.publish(locationOf(3));
    expect(await directory.locate('a')).toEqual(locationOf(3));
  });

  test('[RD16] a frozen Redis costs one caller 250 ms, the next ones nothing, and is used again when it thaws', async () => {
    const node = await redis.node();
    const clock = manualClock();
    const { directory } = await openConnected(await redis.url(), { clock });
    await directory.heartbeat(one);
    node.freeze();
    try {
      const waiting = directory.heartbeat(one);
      const outcome = expect(waiting).rejects.toMatchObject({ cause: { message: 'Redis did not answer within 250 ms' } });
      clock.advance(250);
      clock.turn();
      await outcome;
      for (let call = 0; call < 20; call += 1) await expect(directory.heartbeat(one)).rejects.toThrow('is away');
    } finally {
      node.thaw();
    }
    clock.advance(500);
    expect(await answers(directory)).toEqual([one]);
  });

  test('[RD17] a Redis that is frozen for long is given up, connected to again, and used when it thaws', async () => {
    const node = await redis.node();
    const { directory } = await openConnected(await redis.url());
    await directory.heartbeat(one);
    node.freeze();
    try {
      await until('the connection is given up', async () => {
        const { cause } = await directory.heartbeat(one).then(
          () => expect.unreachable(),
          (error: Error) => error,
        );
        return /Socket timeout|timed out/.test((cause as Error).message);
      });
      for (const call of everyCall(directory)) await expect(call()).rejects.toThrow('is away');
    } finally {
      node.thaw();
    }
    expect(await answers(directory)).toEqual([one]);
  });

  test('[RD18] scripts that Redis has forgotten are sent again, and no call notices', async () => {
    const node = await redis.node();
    const { directory, lines } = await openConnected(await redis.url());
    for (let round = 1; round <= 3; round += 1) {
      expect(await directory.heartbeat(one)).toEqual([one]);
      await directory.publish(locationOf(round));
      expect(await directory.locate('a')).toEqual(locationOf(round));
      await directory.retract(locationOf(round));
      expect(await directory.locate('a')).toBeNull();
      await node.ask('script', 'flush');
    }
    expect(lines).toEqual([]);
  });

  test('[RD24] a connection to a master that was made a replica is given up: its name may lead to the new one', async () => {
    const node = await redis.node();
    const { directory } = await openConnected(await redis.url());
    await directory.heartbeat(one);
    const connections = async (): Promise<string[]> =>
      [...(await node.ask('client', 'list')).matchAll(/^id=(\d+) .* cmd=(?!client)/gm)].map(([, id]) => id!);
    const before = await connections();
    await node.ask('replicaof', '127.0.0.1', '1');
    await expect(directory.heartbeat(one)).rejects.toMatchObject({ cause: { message: expect.stringMatching(/^READONLY/) } });
    await node.ask('replicaof', 'no', 'one');
    expect(await answers(directory)).toEqual([one]);
    expect(before).toHaveLength(1);
    expect(await connections()).not.toContain(before[0]);
  });

  test('[RD19] a directory that is closed rejects calls, those under way included', async () => {
    const node = await redis.node();
    const { directory, lines } = await openConnected(await redis.url());
    await directory.heartbeat(one);
    node.freeze();
    const underWay = expect(directory.heartbeat(one)).rejects.toThrow();
    await directory.close();
    await underWay;
    node.thaw();
    for (const call of everyCall(directory)) await expect(call()).rejects.toThrow('closed');
    expect(lines).toEqual([]);
  });
});

describe.skipIf(!services.isOurs('redis'))('what is in Redis', () => {
  const redis = useRedis();
  const nodes = useNodes();

  test('[RD8] a location goes after an hour, unless it is published again', async () => {
    const node = await redis.node();
    const { directory, prefix } = await openConnected(await redis.url());
    const key = `{${prefix}:loc:a}`;
    const leftMs = async (): Promise<number> => Number(await node.ask('pttl', key));
    await directory.publish(locationOf(3));
    expect(await leftMs()).toBeGreaterThan(3_590_000);
    await node.ask('pexpire', key, '5000');
    await directory.publish(locationOf(2));
    expect(await leftMs()).toBeLessThanOrEqual(5_000);
    await directory.publish(locationOf(3));
    expect(await leftMs()).toBeGreaterThan(3_590_000);
  });

  test('[RD9] a worker whose heartbeat is of a later time than now counts as heard now, not for all that time', async () => {
    const node = await redis.node();
    const { directory, prefix } = await openConnected(await redis.url());
    const key = `{${prefix}:workers}`;
    await node.ask('hset', key, 'other', `${Date.now() + 3_600_000} ${JSON.stringify(other)}`);
    expect(await directory.heartbeat(one)).toEqual([one, other]);
    expect(Number.parseInt(await node.ask('hget', key, 'other'), 10)).toBeLessThanOrEqual(Date.now());
  });

  test('[RD9] what another version of Atrium has written is passed over', async () => {
    const node = await redis.node();
    const { directory, prefix } = await openConnected(await redis.url());
    const foreign = ['nonsense', `${Date.now()} {"incarnation":1}`, `${Date.now()} {`, `${Date.now()} null`];
    for (const [field, value] of foreign.entries()) await node.ask('hset', `{${prefix}:workers}`, String(field), value);
    await node.ask('set', `{${prefix}:loc:a}`, 'nonsense');
    expect(await directory.heartbeat(one)).toEqual([one]);
    expect(await directory.locate('a')).toBeNull();
  });

  test('[RD22] user, password and database of the URL are used; a wrong password is told in the log, once', async () => {
    const node = await redis.node();
    await node.ask('acl', 'setuser', 'me', 'on', '>p@ss', '~*', '+@all');
    const inThree = `redis://me:p%40ss@${node.address}/3`;
    const { directory, prefix } = await openConnected(inThree);
    await directory.heartbeat(one);
    expect(await node.ask('-n', '3', 'exists', `{${prefix}:workers}`)).toBe('1\n');
    expect(await node.ask('exists', `{${prefix}:workers}`)).toBe('0\n');

    const refused = open(`redis://me:wrong@${node.address}`);
    for (const call of everyCall(refused.directory)) await expect(call()).rejects.toThrow('is away');
    expect(refused.lines).toEqual([expect.stringMatching(/^warn: .*WRONGPASS/)]);
  });

  test('[RD22] sentinels that do not know the master, or want a password, are told in the log', async () => {
    const sentinel = await nodes.startSentinel((await redis.node()).port);
    const unknown = open(`redis+sentinel://${sentinel.address}/wrong-name`);
    await expect(unknown.directory.heartbeat(one)).rejects.toThrow('is away');
    expect(unknown.lines).toEqual([expect.stringMatching(/^warn: .*No such master/)]);

    await sentinel.ask('acl', 'setuser', 'default', 'resetpass', '>secret');
    const locked = open(`redis+sentinel://${sentinel.address}/main`);
    await expect(locked.directory.heartbeat(one)).rejects.toThrow('is away');
    expect(locked.lines).toEqual([expect.stringMatching(/^warn: .*NOAUTH/)]);
    const unlocked = open(`redis+sentinel://${sentinel.address}/main?sentinelPassword=secret`);
    expect(await answers(unlocked.directory)).toEqual([one]);
  });
});
