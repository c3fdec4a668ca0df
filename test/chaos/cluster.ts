/**
 * The cluster under test: nodes of a supervisor and two workers each, every one with ways of its own to Postgres, Redis, S3 and the other nodes, so
 * that each way can be cut alone; and a balancer before them.
 */
import { randomBytes } from 'node:crypto';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Liveblocks } from '@liveblocks/node';
import { quietPorts } from '../support/e2e/free-port.ts';
import type { TestServer } from '../support/e2e/server.ts';
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts';
import { Balancer } from './balancer.ts';
import { type NodeEvents, NodeProcess } from './node-process.ts';
import type { Stores } from './stores.ts';

export const NODES = 3;
export const WORKERS = 2;
export type Store = 'postgres' | 'redis' | 's3';

interface Ways {
  readonly stores: Readonly<Record<Store, TcpProxy>>;
  /** By the node they lead to: one for each of its workers. */
  readonly others: ReadonlyMap<number, readonly TcpProxy[]>;
}

interface Ports {
  readonly public: number;
  readonly bus: number;
  readonly admin: number;
}

export interface ClusterOptions {
  readonly folder: string;
  /** Where the copy of the built server is. */
  readonly app: string;
  /** That of another build, with which each node starts; whoever is started again takes `app`. Null: all have one build. */
  readonly appBefore: string | null;
  readonly stores: Stores;
  /** Names the database, the bucket and the keys in Redis. */
  readonly run: string;
  /** What befalls a node, by its name. */
  readonly eventsOf: (node: string) => NodeEvents;
}

/** Snapshots, trims of the journal and rooms that fall asleep are to happen all the time, so that faults meet them. */
const SETTINGS = {
  HOST: '127.0.0.1',
  WORKERS: String(WORKERS),
  STORAGE_TYPE_KEY: 'liveblocksType',
  SNAPSHOT_AFTER_CHANGES: '60',
  SNAPSHOT_EVERY_SECONDS: '5',
  IDLE_ROOM_SECONDS: '10',
  MESSAGES_PER_SECOND_MAX: '100000',
  LOG_LEVEL: 'info',
};

export class ChaosCluster {
  readonly stores: Stores;
  readonly database: string;
  readonly nodes: readonly NodeProcess[];
  /** The whole of it, as clients see it. */
  readonly server: TestServer;
  readonly #ways: readonly Ways[];
  readonly #balancer: Balancer;
  readonly #keys: { readonly secretKey: string; readonly publicKey: string };

  private constructor(parts: {
    stores: Stores;
    database: string;
    nodes: readonly NodeProcess[];
    ways: readonly Ways[];
    balancer: Balancer;
    keys: { secretKey: string; publicKey: string };
  }) {
    this.stores = parts.stores;
    this.database = parts.database;
    this.nodes = parts.nodes;
    this.#ways = parts.ways;
    this.#balancer = parts.balancer;
    this.#keys = parts.keys;
    this.server = this.#serverAt(parts.balancer.port);
  }

  /** Makes the database and all ways; starts no node. */
  static async prepare({ folder, app, appBefore, stores, run, eventsOf }: ClusterOptions): Promise<ChaosCluster> {
    await mkdir(folder, { recursive: true });
    const database = `chaos_${run}`;
    await stores.postgres.ask('postgres', `create database ${database}`);
    const ports: Ports[] = [];
    for (let node = 0; node < NODES; node += 1) {
      const first = await quietPorts(1 + 2 * WORKERS);
      ports.push({ public: first, bus: first + 1, admin: first + 1 + WORKERS });
    }
    const ways = await Promise.all(ports.map((_, node) => openWays(node, { ports, stores })));
    const keys = { secretKey: `sk_${randomBytes(16).toString('hex')}`, publicKey: `pk_${randomBytes(16).toString('hex')}` };
    const nodes = ports.map((own, node) => {
      const name = `n${node}`;
      const settings = {
        ...SETTINGS,
        ...storeSettings(ways[node]!, { stores, database, run }),
        PORT: String(own.public),
        BUS_PORT: String(own.bus),
        ADMIN_PORT: String(own.admin),
        DATA_DIR: join(folder, name),
        SECRET_KEY: keys.secretKey,
        PUBLIC_KEY: keys.publicKey,
        CHAOS_DETOURS: detoursOf(ways[node]!, ports),
      };
      const logFile = join(folder, `${name}.log`);
      const options = {
        name,
        folder: app,
        folderBefore: appBefore,
        settings,
        port: own.public,
        adminPort: own.admin,
        workers: WORKERS,
        logFile,
      };
      return new NodeProcess(options, eventsOf(name));
    });
    const balancer = await Balancer.open(ports.map((own) => own.public));
    return new ChaosCluster({ stores, database, nodes, ways, balancer, keys });
  }

  async start(): Promise<void> {
    for (const node of this.nodes) node.start();
    await Promise.all(this.nodes.map((node) => node.ready()));
  }

  /** kill -9 for all at once, the stores' own processes included, apart from S3, which lives in memory. Only what is written down is left. */
  async stopEverything(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    await this.stores.postgres.stopAtOnce();
    await this.stores.redis.stop();
  }

  /** What clients see when they ask this node. */
  serverOf(node: number): TestServer {
    return this.#serverAt(this.nodes[node]!.port);
  }

  wayToStore(node: number, store: Store): TcpProxy {
    return this.#ways[node]!.stores[store];
  }

  /** The ways between the workers of two nodes, from the first to the second. */
  waysBetween(from: number, to: number): readonly TcpProxy[] {
    return this.#ways[from]!.others.get(to) ?? [];
  }

  /** All stores answer, all ways are open; nodes are left as they are. */
  async healWays(): Promise<void> {
    this.stores.postgres.thaw();
    for (const { stores, others } of this.#ways)
      for (const way of [...Object.values(stores), ...[...others.values()].flat()]) way.heal();
  }

  /** Ends all that is left of it, in whatever state. */
  async dispose(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.kill()));
    for (const node of this.nodes) node.close();
    await this.#balancer.close();
    for (const { stores, others } of this.#ways)
      for (const way of [...Object.values(stores), ...[...others.values()].flat()]) await way.close();
  }

  #serverAt(port: number): TestServer {
    const url = `http://127.0.0.1:${port}`;
    return {
      ...this.#keys,
      url,
      socketUrl: url.replace(/^http/, 'ws'),
      backend: new Liveblocks({ secret: this.#keys.secretKey, baseUrl: url }),
      restart: () => Promise.reject(new Error('nodes are restarted one by one')),
    };
  }
}

async function openWays(node: number, { ports, stores }: { ports: readonly Ports[]; stores: Stores }): Promise<Ways> {
  const to = (port: number): Promise<TcpProxy> => startTcpProxy({ target: { host: '127.0.0.1', port } });
  const others = new Map<number, TcpProxy[]>();
  for (const [other, { bus }] of ports.entries()) {
    if (other === node) continue;
    const workers: TcpProxy[] = [];
    for (let index = 0; index < WORKERS; index += 1) workers.push(await to(bus + index));
    others.set(other, workers);
  }
  const { postgres, redis, s3 } = stores;
  return { stores: { postgres: await to(postgres.port), redis: await to(redis.port), s3: await to(s3.port) }, others };
}

/** For `detour.mjs`. */
function detoursOf({ others }: Ways, ports: readonly Ports[]): string {
  const detours: Record<string, number> = {};
  for (const [other, workers] of others)
    for (const [index, way] of workers.entries()) detours[`127.0.0.1:${ports[other]!.bus + index}`] = way.port;
  return JSON.stringify(detours);
}

function storeSettings(
  ways: Ways,
  { stores, database, run }: { stores: Stores; database: string; run: string },
): Readonly<Record<string, string>> {
  return {
    DATABASE_URL: stores.postgres.url(database, ways.stores.postgres.port),
    REDIS_URL: `redis://127.0.0.1:${ways.stores.redis.port}`,
    REDIS_PREFIX: `chaos-${run}`,
    S3_BUCKET: `chaos-${run}`,
    S3_ENDPOINT: `http://127.0.0.1:${ways.stores.s3.port}`,
    S3_FORCE_PATH_STYLE: 'true',
    S3_CREATE_BUCKET: 'true',
    AWS_ACCESS_KEY_ID: stores.s3.accessKey,
    AWS_SECRET_ACCESS_KEY: stores.s3.secretKey,
  };
}
