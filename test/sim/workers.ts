/**
 * The workers of a simulated cluster: machines on which processes live one after the other, each with a whole real worker in it.
 */
import { MemoryNetwork } from '../../src/adapters/memory-bus.ts';
import { asWorkerAddress, type Incarnation, type RoomId } from '../../src/base/ids.ts';
import type { Log } from '../../src/base/observe.ts';
import { silentLog } from '../../src/base/observe.ts';
import { findOwnerAddress, findRoomForEntry } from '../../src/features/rooms/queries.ts';
import { findSchemaOfStream } from '../../src/features/schemas/queries.ts';
import { fenceAtOnce } from '../../src/kernel/cluster/dead-fence.ts';
import type { Query, Sql } from '../../src/kernel/persistence/sql.ts';
import { FULL_ACCESS } from '../../src/protocol/permissions.ts';
import type { RoomPolicy } from '../../src/room/policy.ts';
import { Worker } from '../../src/room/worker.ts';
import type { WorkerDeps } from '../../src/room/worker-deps.ts';
import { type MemoryBlobs, memoryBlobs } from '../support/memory-blobs.ts';
import { FakeRedis, ProcessBus, ProcessDirectory } from './cluster.ts';
import type { Mutant } from './mutants.ts';
import { FakeSql } from './postgres/fake-sql.ts';
import { whatIs } from './postgres/known.ts';
import { PostgresLink } from './postgres/link.ts';
import { FakeServer } from './postgres/server.ts';
import { Process, type World } from './world.ts';

/** How fast everything is at the moment, and how often a commit gets stuck; the nemesis changes it. */
export interface Weather {
  stuckCommits: number;
  travelMsMax: number;
  /** How often a snapshot takes long before it gets to the database, as when it first goes to a slow store of blobs. */
  slowSaves: number;
}

export const FAIR: Weather = { stuckCommits: 0, travelMsMax: 1.5, slowSaves: 0.15 };

const POOL_MAX = 3;
/** The adapter's limit of a statement and its grace. */
const ANSWER_MS_MAX = 11_000;
const CONNECTIONS_MAX = 1_000;

/** One process of the cluster, from its start to its end. */
export interface Life {
  readonly name: string;
  readonly process: Process;
  /** Null until it holds a lease. */
  worker: Worker | null;
  /** Its connections for all but leases, claims and journal. */
  readonly db: Sql;
  /** It was told to stop. */
  isDraining: boolean;
  /** For a mutant that has to know. */
  isResuming: boolean;
  /** The names of its leases, oldest first. */
  readonly incarnations: Incarnation[];
  /** Called when the process dies. */
  readonly onDeath: Set<() => void>;
}

export interface ClusterOptions {
  readonly policy: RoomPolicy;
  readonly mutant: Mutant;
  readonly hasSupervisors: boolean;
  readonly onTrouble: (what: string) => void;
}

export class Cluster {
  readonly world: World;
  readonly weather: Weather = { ...FAIR };
  readonly postgres: FakeServer;
  readonly redis: FakeRedis;
  readonly network: MemoryNetwork;
  readonly blobs: MemoryBlobs = memoryBlobs();
  readonly machines: Machine[] = [];
  readonly mutant: Mutant;
  readonly policy: RoomPolicy;
  /** Whether somebody watches the processes, and fences those that have ended. */
  readonly hasSupervisors: boolean;
  readonly onTrouble: (what: string) => void;

  constructor(world: World, options: ClusterOptions) {
    this.world = world;
    this.policy = options.policy;
    this.hasSupervisors = options.hasSupervisors;
    this.mutant = options.mutant;
    this.onTrouble = options.onTrouble;
    const { clock } = new Process(world, 'network');
    this.postgres = new FakeServer(world, { commitMs: () => this.#commitMs() });
    this.redis = new FakeRedis(world, clock);
    this.network = new MemoryNetwork({ clock, log: silentLog, travelMs: () => this.travelMs() });
  }

  travelMs(): number {
    return 0.1 + this.world.dice.fraction() * this.weather.travelMsMax;
  }

  #commitMs(): number {
    const { dice } = this.world;
    const luck = dice.fraction();
    if (luck < this.weather.stuckCommits) return 150 + dice.fraction() * 1_850;
    return luck > 0.95 ? 5 + dice.fraction() * 40 : 0.3 + dice.fraction() * 2;
  }
}

/** A place with an address, where one process at a time runs. */
export class Machine {
  readonly name: string;
  readonly link: PostgresLink;
  readonly #cluster: Cluster;
  /** A process that outlives those it watches, with a way of its own to the database. */
  readonly #supervisor: Process;
  readonly #supervisorDb: Sql;
  #life: Life | null = null;
  #lives = 0;

  constructor(cluster: Cluster, name: string) {
    this.#cluster = cluster;
    this.name = name;
    const travelMs = (): number => cluster.travelMs();
    this.link = new PostgresLink(cluster.postgres, travelMs);
    this.#supervisor = new Process(cluster.world, `supervisor of ${name}`);
    const link = new PostgresLink(cluster.postgres, travelMs);
    this.#supervisorDb = new FakeSql({ link, process: this.#supervisor, poolMax: 1, answerMsMax: ANSWER_MS_MAX });
  }

  get address(): ReturnType<typeof asWorkerAddress> {
    return asWorkerAddress(`${this.name}:1`);
  }

  get life(): Life | null {
    return this.#life;
  }

  /** Begins a process; it keeps trying until it holds a lease. */
  start(): void {
    if (this.#life !== null) return;
    this.#lives += 1;
    const name = `${this.name}${this.#lives}`;
    const { world, network } = this.#cluster;
    const process = new Process(world, name);
    const bus = network.join(this.address);
    const db = new FakeSql({ link: this.link, process, poolMax: POOL_MAX, answerMsMax: ANSWER_MS_MAX });
    const life: Life = {
      name,
      process,
      db,
      worker: null,
      isDraining: false,
      isResuming: false,
      incarnations: [],
      onDeath: new Set(),
    };
    this.#life = life;
    life.onDeath.add(() => network.leave(bus));
    life.onDeath.add(() => this.link.abandon());
    const deps = this.#depsOf(life, new ProcessBus(bus, process));
    world.note(() => `${name} starts`);
    const begin = (): void => {
      Worker.start(deps).then(
        (worker) => {
          life.worker = worker;
          this.#cluster.mutant.started?.(worker, life);
        },
        () => process.clock.after(100, begin),
      );
    };
    begin();
  }

  kill(): void {
    const life = this.#life;
    if (life === null) return;
    this.#cluster.world.note(() => `${life.name} dies`);
    this.#life = null;
    life.process.kill();
    for (const end of life.onDeath) end();
    if (this.#cluster.hasSupervisors) this.fence(life);
  }

  /** What a supervisor does when it has seen a process end. */
  fence({ incarnations }: Life): void {
    const { clock, random } = this.#supervisor;
    for (const incarnation of incarnations)
      void fenceAtOnce(incarnation, { db: this.#supervisorDb, clock, random, log: silentLog });
  }

  #depsOf(life: Life, bus: ProcessBus): WorkerDeps {
    const { process, db } = life;
    const { redis, mutant, policy, blobs } = this.#cluster;
    const real = new FakeSql({ link: this.link, process, poolMax: POOL_MAX, answerMsMax: ANSWER_MS_MAX });
    const { tables } = this.#cluster.postgres;
    const slow = withSlowSaves(real, { process, isSlow: () => this.#isSlow() });
    const meddled = (sql: Sql): Sql => mutant.sql?.(sql, { life, address: this.address, redis, tables }) ?? sql;
    const lease = new FakeSql({ link: this.link, process, poolMax: 1, answerMsMax: ANSWER_MS_MAX });
    return {
      world: { clock: mutant.clock?.(process) ?? process.clock, random: process.random, log: this.#logOf(life) },
      authority: meddled(slow),
      lease: meddled(lease),
      blobs,
      cluster: { bus, directory: new ProcessDirectory(redis, process), workerName: life.name },
      rooms: {
        findStream: async (roomId: RoomId) => (await findRoomForEntry(db, roomId))?.pk ?? null,
        findSchema: (stream) => findSchemaOfStream(db, stream),
        keepVersion: async () => 'kept',
        findOwner: (roomId) => findOwnerAddress(db, roomId),
        remembered: { forget: () => undefined, forgetAll: () => undefined },
      },
      limits: {
        policy,
        connectionsMax: CONNECTIONS_MAX,
        limits: {
          messages: { perSecond: 1_000, burst: 1_000 },
          sendBytesSoftMax: 1_000_000,
          sendBytesHardMax: 2_000_000,
          idleMs: 60_000,
        },
      },
      onRegistered: (incarnation) => life.incarnations.push(incarnation),
      sockets: {
        admit: async ({ roomId }) => ({
          roomId: roomId as RoomId,
          userId: 'somebody',
          info: null,
          permissions: FULL_ACCESS,
          expiresAtMs: Number.POSITIVE_INFINITY,
        }),
        findMissingFiles: async () => [],
        feeds: { take: () => undefined },
      },
    };
  }

  #isSlow(): boolean {
    const { world, weather } = this.#cluster;
    return world.dice.chance(weather.slowSaves);
  }

  /** An error in the log that is not a refusal is a bug of ours. */
  #logOf({ name }: Life): Log {
    const { world, onTrouble } = this.#cluster;
    const line =
      (level: string) =>
      (fields: Record<string, unknown>, message: string): void => {
        const error = fields.err;
        world.note(() => `${name} ${level}: ${message} ${JSON.stringify({ ...fields, err: String(error ?? '') })}`);
        const isRefusal = error instanceof Error && error.name === 'AppError';
        if (level === 'error' && !isRefusal)
          onTrouble(`${name}: ${message}: ${error instanceof Error ? error.stack : JSON.stringify(fields)}`);
      };
    const log = { debug: line('debug'), info: line('info'), warn: line('warn'), error: line('error') };
    return { ...log, child: () => log } as unknown as Log;
  }
}

const SLOW_SAVE_MS = { min: 50, max: 5_000 };

function withSlowSaves(db: Sql, { process, isSlow }: { process: Process; isSlow: () => boolean }): Sql {
  return {
    async query<Row>(query: Query<Row>): Promise<Row[]> {
      if (whatIs(query.text) === 'save snapshot' && isSlow()) {
        const { min, max } = SLOW_SAVE_MS;
        const ms = min + process.world.dice.fraction() * (max - min);
        await new Promise<void>((resolve) => process.clock.after(ms, resolve));
      }
      return db.query(query);
    },
    change: (query) => db.change(query),
    transaction: (work) => db.transaction(work),
  };
}
