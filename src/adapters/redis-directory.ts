/**
 * The directory of a cluster, in Redis: a single one, one under Sentinel, or Redis Cluster. All of it is hints. A Redis that loses some of them
 * (failover) or all (a restart) needs no repair: each worker is back with its next heartbeat, locations with the next look into the database.
 *
 * Every key is one hash tag, so a script never meets two nodes of Redis Cluster.
 */
import type { Clock } from '../base/clock.ts';
import { asIncarnation, asWorkerAddress, type Incarnation } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import { type Directory, type Location, WORKER_SILENT_MS, type WorkerEntry } from '../kernel/cluster/directory.ts';
import { RedisBreaker } from './redis-breaker.ts';
import { openRedis, type RedisClient } from './redis-client.ts';
import { RedisHealth } from './redis-health.ts';
import { parseRedisUrl } from './redis-url.ts';

/** A location is a hint: without one, workers ask the database. So that of a worker that died need not stay; publishing again keeps it. */
const LOCATION_KEPT_MS = 3_600_000;
/** Less than callers wait for an answer, so a call that was given up is not sent after all. */
const OPENING_MS_MAX = 200;
/** Digits of the largest safe integer: epochs of one length compare as strings. */
const EPOCH_DIGITS = 16;

export interface RedisDirectoryOptions {
  /** See `parseRedisUrl`. */
  readonly url: string;
  /** Begins every key: letters, digits, `_` and `-`. */
  readonly prefix: string;
  readonly clock: Clock;
  readonly log: Log;
}

/** Opens whether Redis is there or not: calls reject until it is. @throws StartRefused when the URL is wrong. */
export function openRedisDirectory({ url, prefix, clock, log }: RedisDirectoryOptions): Directory {
  return new RedisDirectory({ redis: openRedis(parseRedisUrl(url)), prefix, clock, log });
}

class RedisDirectory implements Directory {
  readonly #redis: RedisClient;
  readonly #prefix: string;
  readonly #health: RedisHealth;
  /** Two, because in Redis Cluster they are on several nodes: locations on one that is frozen shall not keep heartbeats from another. */
  readonly #beats: RedisBreaker;
  readonly #locations: RedisBreaker;
  /** Over when the first connection stands or has taken too long: until then calls wait, later none waits for a connection. */
  readonly #opening: Promise<void>;
  #isClosed = false;

  constructor({ redis, prefix, clock, log }: Omit<RedisDirectoryOptions, 'url'> & { redis: RedisClient }) {
    this.#redis = redis;
    this.#prefix = prefix;
    this.#health = new RedisHealth({ clock, log });
    this.#beats = new RedisBreaker({ clock });
    this.#locations = new RedisBreaker({ clock });
    for (const event of ['error', 'sentinelError'] as const) redis.on(event, (error) => this.#health.connectionFailed(error));
    redis.on('ready', () => this.#health.connected());
    this.#opening = new Promise((resolve) => {
      const stop = clock.after(OPENING_MS_MAX, resolve);
      redis.on('ready', () => {
        stop();
        resolve();
      });
    });
  }

  /** Age is by the clock of Redis. What comes back is what Redis knows: after it was empty, for a second only those that have beaten since. */
  async heartbeat({ incarnation, address, draining, load }: WorkerEntry): Promise<WorkerEntry[]> {
    const entry = JSON.stringify({ incarnation, address, draining, load });
    const heard = await this.#call(this.#beats, () =>
      this.#redis.beatWorker(this.#workersKey(), incarnation, entry, WORKER_SILENT_MS),
    );
    return heard.map(parseEntry).filter((found) => found !== null);
  }

  async leave(incarnation: Incarnation): Promise<void> {
    await this.#call(this.#beats, () => this.#redis.hdel(this.#workersKey(), incarnation));
  }

  async locate(key: string): Promise<Location | null> {
    const stored = await this.#call(this.#locations, () => this.#redis.get(this.#locationKey(key)));
    return stored === null ? null : parseLocation(key, stored);
  }

  /** Publishing what is there already keeps it for longer. */
  async publish({ key, incarnation, address, epoch }: Location): Promise<void> {
    const stored = `${ownedBy(incarnation, epoch)}${address}`;
    await this.#call(this.#locations, () =>
      this.#redis.publishLocation(this.#locationKey(key), padded(epoch), stored, LOCATION_KEPT_MS),
    );
  }

  async retract({ key, incarnation, epoch }: Location): Promise<void> {
    await this.#call(this.#locations, () => this.#redis.retractLocation(this.#locationKey(key), ownedBy(incarnation, epoch)));
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#redis.disconnect();
  }

  async #call<Result>(breaker: RedisBreaker, call: () => Promise<Result>): Promise<Result> {
    if (this.#isClosed) throw new Error('the directory is closed');
    try {
      const result = await breaker.run(() => this.#opening.then(call));
      this.#health.answered();
      return result;
    } catch (error) {
      throw this.#isClosed ? error : this.#health.failed(error);
    }
  }

  #workersKey(): string {
    return `{${this.#prefix}:workers}`;
  }

  /** A brace of the key would end the hash tag; half a surrogate pair cannot be sent as UTF-8. Both become codes, and so does what begins one. */
  #locationKey(key: string): string {
    const safe = key.replace(/[%{}]|\p{Surrogate}/gu, (one) => `%${one.charCodeAt(0).toString(16)}`);
    return `{${this.#prefix}:loc:${safe}}`;
  }
}

function padded(epoch: number): string {
  return String(epoch).padStart(EPOCH_DIGITS, '0');
}

/** What the stored location of this owner and epoch begins with. */
function ownedBy(incarnation: Incarnation, epoch: number): string {
  return `${padded(epoch)} ${incarnation} `;
}

/** Null for what this version does not understand: a hint is no reason to fail. */
function parseLocation(key: string, stored: string): Location | null {
  const [epoch, incarnation, address] = stored.split(' ');
  if (incarnation === undefined || address === undefined || !Number.isSafeInteger(Number(epoch))) return null;
  return { key, incarnation: asIncarnation(incarnation), address: asWorkerAddress(address), epoch: Number(epoch) };
}

function parseEntry(text: string): WorkerEntry | null {
  try {
    const { incarnation, address, draining, load } = JSON.parse(text);
    const isEntry = typeof incarnation === 'string' && typeof address === 'string' && typeof load === 'number';
    if (!isEntry || typeof draining !== 'boolean') return null;
    return { incarnation: asIncarnation(incarnation), address: asWorkerAddress(address), draining, load };
  } catch {
    return null; // as above: a hint of another version
  }
}
