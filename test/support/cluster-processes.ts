/**
 * A cluster as it is run: each worker a process of the built server, on one Postgres, Redis and S3, all of which a test may take away.
 *
 * Without a supervisor: who dies is not declared dead by anybody, so a takeover waits for the lease.
 */
import { randomBytes } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { Liveblocks } from '@liveblocks/node';
import { afterAll } from 'vitest';
import { openPostgres, type PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { asRoomId } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { findOwnerAddress } from '../../src/features/rooms/queries.ts';
import { freePort } from './e2e/free-port.ts';
import { build, type Exit, ServerProcess } from './e2e/process.ts';
import type { TestServer } from './e2e/server.ts';
import { until } from './e2e/until.ts';
import { aDataDir, usePostgres } from './postgres.ts';
import { aRedisPrefix, type RedisNode, useRedis } from './redis.ts';
import { sharedRgw } from './rgw.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

interface Seat {
  readonly port: number;
  readonly busPort: number;
  /** The way of this worker to the database. */
  readonly database: TcpProxy;
  process: ServerProcess | null;
}

export class ClusterOfProcesses {
  readonly redis: RedisNode;
  /** Asks the database directly, past what a test does to the workers' ways. */
  readonly db: PostgresSql;
  readonly #seats: readonly Seat[];
  readonly #settings: Readonly<Record<string, string>>;

  /** Made by `aClusterOfProcesses`. */
  constructor(parts: { redis: RedisNode; db: PostgresSql; seats: readonly Seat[]; settings: Readonly<Record<string, string>> }) {
    this.redis = parts.redis;
    this.db = parts.db;
    this.#seats = parts.seats;
    this.#settings = parts.settings;
  }

  /** Starts the worker of this seat, with these settings besides, and waits until it serves. */
  async start(index: number, settings: Readonly<Record<string, string>> = {}): Promise<void> {
    const seat = this.#seat(index);
    const url = new URL(this.#settings.DATABASE_URL!);
    url.searchParams.delete('host');
    url.hostname = seat.database.host;
    url.port = String(seat.database.port);
    seat.process = new ServerProcess({
      ...this.#settings,
      DATABASE_URL: url.href,
      PORT: String(seat.port),
      BUS_PORT: String(seat.busPort),
      ...settings,
    });
    await seat.process.ready(seat.port);
  }

  /** The worker of this seat, as clients see it. */
  server(index: number): TestServer {
    const url = `http://127.0.0.1:${this.#seat(index).port}`;
    const { SECRET_KEY = '', PUBLIC_KEY = '' } = this.#settings;
    return {
      url,
      socketUrl: url.replace('http', 'ws'),
      secretKey: SECRET_KEY,
      publicKey: PUBLIC_KEY,
      backend: new Liveblocks({ secret: SECRET_KEY, baseUrl: url }),
      restart: () => Promise.reject(new Error('restart the worker through the cluster')),
    };
  }

  /** The seat of the worker that owns the room. */
  async ownerOf(roomId: string): Promise<number> {
    const address = await until('the room has an owner', () => findOwnerAddress(this.db, asRoomId(roomId)));
    return this.#seats.findIndex(({ busPort }) => address === `127.0.0.1:${busPort}`);
  }

  database(index: number): TcpProxy {
    return this.#seat(index).database;
  }

  signal(index: number, signal: NodeJS.Signals): void {
    this.#running(index).signal(signal);
  }

  /** Sends the signal that ends it, and waits for the end. */
  async end(index: number, signal: 'SIGKILL' | 'SIGTERM'): Promise<Exit> {
    return this.#running(index).stop(signal);
  }

  /** All that a worker has logged. */
  output(index: number): string {
    return this.#running(index).output;
  }

  /** Kills all that runs. @throws an Error with the last words of workers that had ended by themselves. */
  async close(): Promise<void> {
    const lastWords = this.#seats.flatMap((seat) => seat.process?.lastWords ?? []);
    await Promise.all(
      this.#seats.map(async (seat) => {
        await seat.process?.stop('SIGKILL');
        await seat.database.close();
      }),
    );
    if (lastWords.length > 0) throw new Error(`workers ended by themselves: ${lastWords.join('\n')}`);
  }

  #seat(index: number): Seat {
    const seat = this.#seats[index];
    if (seat === undefined) throw new Error(`there is no seat ${index}`);
    return seat;
  }

  #running(index: number): ServerProcess {
    const { process } = this.#seat(index);
    if (process === null) throw new Error(`no worker was started on seat ${index}`);
    return process;
  }
}

/** Call at the top of a test file, where all services are there; the cluster ends with the file. All workers are started. */
export async function aClusterOfProcesses({
  workers,
  settings = {},
}: {
  workers: number;
  settings?: Readonly<Record<string, string>>;
}): Promise<ClusterOfProcesses> {
  const [postgres, redis, folder] = [usePostgres(), useRedis(), await aDataDir('atrium-cluster-')];
  const database = await postgres.database();
  const s3 = await sharedRgw();
  await build();
  const path = `${new URL(database).searchParams.get('host')}/.s.PGSQL.5432`; // the embedded one listens on a file
  const seats: Seat[] = [];
  for (let index = 0; index < workers; index += 1)
    seats.push({
      port: await freePort(),
      busPort: await freePort(),
      database: await startTcpProxy({ target: { path } }),
      process: null,
    });
  const cluster = new ClusterOfProcesses({
    redis: await redis.node(),
    db: openPostgres({ url: database, poolMax: 2, log: silentLog }),
    seats,
    settings: {
      LOG_LEVEL: 'warn',
      DATA_DIR: folder,
      DATABASE_URL: database,
      REDIS_URL: await redis.url(),
      REDIS_PREFIX: aRedisPrefix(),
      S3_BUCKET: 'atrium',
      S3_ENDPOINT: s3.endpoint,
      S3_FORCE_PATH_STYLE: 'true',
      S3_CREATE_BUCKET: 'true',
      AWS_ACCESS_KEY_ID: s3.accessKey,
      AWS_SECRET_ACCESS_KEY: s3.secretKey,
      SECRET_KEY: `sk_${randomBytes(16).toString('hex')}`,
      PUBLIC_KEY: `pk_${randomBytes(16).toString('hex')}`,
      STORAGE_TYPE_KEY: 'liveblocksType',
      ...settings,
    },
  });
  afterAll(async () => {
    await cluster.close();
    await cluster.db.close();
    await rm(folder, { recursive: true, force: true });
  });
  await Promise.all(seats.map((_, index) => cluster.start(index)));
  return cluster;
}
