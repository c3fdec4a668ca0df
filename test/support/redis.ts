/**
 * Real Redis for a test file: one server, a master with replica and sentinel, or a cluster of three nodes, all of them private to the file,
 * without persistence, and gone with the test process.
 */
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll } from 'vitest';
import { until } from './e2e/until.ts';
import { aDataDir } from './postgres.ts';
import { aRedisPort, onLoopback, type RedisNode, redisCommand, redisNode } from './redis-node.ts';
import { services } from './services.ts';

export type { RedisNode } from './redis-node.ts';

/** A name space of its own on a server that others use. */
export const aRedisPrefix = (): string => `test-${randomBytes(6).toString('hex')}`;

/** Call at the top of a test file. The server starts when it is first asked for; `TEST_REDIS_URL` may name another, which no test can break. */
export function useRedis(): { url(): Promise<string>; node(): Promise<RedisNode> } {
  const nodes = useNodes();
  let starting: Promise<RedisNode> | null = null;
  const node = (): Promise<RedisNode> => {
    starting ??= nodes.start();
    return starting;
  };
  return { url: async () => services.given('redis') ?? `redis://${(await node()).address}`, node };
}

export interface RedisUnderSentinel {
  readonly url: string;
  readonly master: RedisNode;
  readonly replica: RedisNode;
  /** From now on the replica hears nothing of the master, while all others do. */
  cutReplica(): Promise<void>;
}

/** As `useRedis`. The sentinel takes a master for dead after half a second. */
export function useSentinel(): { start(): Promise<RedisUnderSentinel> } {
  const nodes = useNodes();
  return {
    async start() {
      const repl = ['--repl-diskless-sync-delay', '0', '--masteruser', 'replica', '--masterauth', 'secret'];
      const master = await nodes.start([...repl, '--user', 'replica', 'on', '>secret', '+psync', '+replconf', '+ping']);
      const replica = await nodes.start([...repl, '--replicaof', '127.0.0.1', String(master.port)]);
      await until('the replica follows', async () =>
        (await replica.ask('info', 'replication')).includes('master_link_status:up'),
      );
      const sentinel = await nodes.startSentinel(master.port);
      await until('the sentinel knows the replica', async () =>
        /num-slaves\n1\n/.test(await sentinel.ask('sentinel', 'master', 'main')),
      );
      return {
        url: `redis+sentinel://${sentinel.address}/main`,
        master,
        replica,
        async cutReplica() {
          await master.ask('acl', 'setuser', 'replica', 'off');
          await master.ask('client', 'kill', 'type', 'replica');
        },
      };
    },
  };
}

/** As `useRedis`: three masters without replicas, which serve what they have when another is gone. */
export function useRedisCluster(): { start(): Promise<{ url: string; nodes: readonly RedisNode[] }> } {
  const nodes = useNodes();
  return {
    async start() {
      const settings = ['--cluster-enabled', 'yes', '--cluster-require-full-coverage', 'no', '--cluster-node-timeout', '1000'];
      const three = await Promise.all([nodes.start(settings), nodes.start(settings), nodes.start(settings)]);
      const addresses = three.map(({ address }) => address);
      await promisify(execFile)('redis-cli', ['--cluster', 'create', ...addresses, '--cluster-yes']);
      await until('all nodes agree', async () => {
        const states = await Promise.all(three.map((node) => node.ask('cluster', 'info')));
        return states.every((state) => state.includes('cluster_state:ok') && state.includes('cluster_known_nodes:3'));
      });
      return { url: `redis+cluster://${addresses.join()}`, nodes: three };
    },
  };
}

interface Nodes {
  /** A server with these settings besides. */
  start(settings?: readonly string[]): Promise<RedisNode>;
  /** A sentinel that watches the master of this port under the name `main`. */
  startSentinel(masterPort: number, settings?: readonly string[]): Promise<RedisNode>;
}

/** As `useRedis`: servers one by one, for a file that puts them together itself. */
export function useNodes(): Nodes {
  const started: { node: RedisNode; directory: string }[] = [];
  afterAll(async () => {
    for (const { node, directory } of started) {
      await node.stop();
      await rm(directory, { recursive: true });
    }
  });
  const add = async (commandFor: (port: number, directory: string) => Promise<string[]>): Promise<RedisNode> => {
    const [port, directory] = [await aRedisPort(), await aDataDir('atrium-test-')];
    const node = redisNode(await commandFor(port, directory), { port, directory });
    started.push({ node, directory });
    await node.start();
    return node;
  };
  return {
    start: (settings = []) => add(async (port) => [...redisCommand(port), ...settings]),
    startSentinel: (masterPort, settings = []) =>
      add(async (port, directory) => {
        const file = join(directory, 'sentinel.conf');
        await writeFile(file, sentinelConfig(masterPort));
        return ['redis-sentinel', file, ...onLoopback(port), ...settings];
      }),
  };
}

function sentinelConfig(masterPort: number): string {
  return [
    `sentinel monitor main 127.0.0.1 ${masterPort} 1`,
    'sentinel down-after-milliseconds main 500',
    'sentinel failover-timeout main 5000',
    '',
  ].join('\n');
}
