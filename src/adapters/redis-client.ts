/**
 * A connection to Redis of any kind, set up to fail fast: nothing waits for a connection, nothing is sent twice, and it reconnects for ever.
 * It knows no keys.
 */
import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { toHost, toMaster } from './redis-connectors.ts';
import { REDIS_SCRIPTS, type RedisScripts } from './redis-scripts.ts';
import type { RedisPlace } from './redis-url.ts';

/** What the directory asks of a client of either class of ioredis. */
export interface RedisClient extends RedisScripts {
  get(key: string): Promise<string | null>;
  hdel(key: string, field: string): Promise<number>;
  /** At each try to connect that failed, to Redis or to one sentinel. */
  on(event: 'error' | 'sentinelError', listener: (error: Error) => void): unknown;
  on(event: 'ready', listener: () => void): unknown;
  /** Closes at once; what is under way rejects. */
  disconnect(): void;
}

/** ioredis types the one left out so that options may not be built in parts. */
type Options = Omit<RedisOptions, 'replyMapping'>;

const CONNECT_MS = 1_000;
/** A connection that owes an answer for so long is dead, as after the loss of a host: a new one may lead elsewhere. */
const SILENT_CONNECTION_MS = 1_000;
const RECONNECT_FIRST_MS = 50;
const RECONNECT_MS_MAX = 1_000;
/** Within the cluster a command follows slots that have moved; with the pause, not beyond the time that a caller waits. */
const REDIRECTIONS_MAX = 4;
const REDIRECTION_PAUSE_MS = 50;
/** How soon slots that moved without our noticing are found. */
const SLOTS_REFRESH_MS = 5_000;

/** Returns before it is connected, and whether or not it ever will be. */
export function openRedis(place: RedisPlace): RedisClient {
  return clientFor(place) as unknown as RedisClient;
}

function clientFor(place: RedisPlace): Redis | Cluster {
  const options = optionsFor(place);
  if (place.kind === 'single') {
    return new Redis({
      ...options,
      ...place.host,
      db: place.database,
      enableOfflineQueue: false,
      retryStrategy: reconnectAfterMs,
    });
  }
  if (place.kind === 'sentinel') return new Redis({ ...options, ...sentinelOptions(place) });
  return new Cluster([...place.hosts], {
    scripts: REDIS_SCRIPTS,
    redisOptions: options,
    enableOfflineQueue: false,
    clusterRetryStrategy: reconnectAfterMs,
    maxRedirections: REDIRECTIONS_MAX,
    retryDelayOnFailover: REDIRECTION_PAUSE_MS,
    retryDelayOnClusterDown: REDIRECTION_PAUSE_MS,
    retryDelayOnTryAgain: REDIRECTION_PAUSE_MS,
    slotsRefreshTimeout: CONNECT_MS,
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    dnsLookup: (host, done) => done(null, host), // each connection looks it up: with TLS the name is needed, not the address
  });
}

function optionsFor({ kind, username, password, tls }: RedisPlace): Options {
  return {
    scripts: REDIS_SCRIPTS,
    Connector: kind === 'sentinel' ? toMaster : toHost,
    protocol: 2, // all that is needed here, and what every server and proxy speaks
    disableClientInfo: true,
    connectTimeout: CONNECT_MS,
    disconnectTimeout: 100,
    commandTimeout: CONNECT_MS, // bounds the handshake; whoever sends a command waits for less
    socketTimeout: SILENT_CONNECTION_MS,
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    maxLoadingRetryTime: RECONNECT_MS_MAX,
    reconnectOnError: (error) => error.message.startsWith('READONLY'), // a master that failover has made a replica
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(tls === 'on' ? { tls: {} } : {}),
  };
}

function sentinelOptions({ sentinels, master, sentinelLogin, tls }: RedisPlace & { kind: 'sentinel' }): Options {
  const { username, password } = sentinelLogin;
  return {
    sentinels: [...sentinels],
    name: master,
    sentinelCommandTimeout: CONNECT_MS,
    sentinelRetryStrategy: reconnectAfterMs,
    enableOfflineQueue: false,
    retryStrategy: reconnectAfterMs,
    ...(username === null ? {} : { sentinelUsername: username }),
    ...(password === null ? {} : { sentinelPassword: password }),
    ...(tls === 'on' ? { sentinelTLS: {}, enableTLSForSentinelMode: true } : {}),
  };
}

/** For ever: `times` counts from 1. */
function reconnectAfterMs(times: number): number {
  return Math.min(RECONNECT_FIRST_MS * 2 ** Math.min(times - 1, 10), RECONNECT_MS_MAX);
}
