/**
 * The server under test. Without E2E_URL each test file has its own, in its own process; with it (and E2E_SECRET_KEY,
 * E2E_PUBLIC_KEY) the same files run against the server, or cluster, at that address.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Liveblocks } from '@liveblocks/node';
import { afterAll, beforeEach } from 'vitest';
import { type App, startApp } from '../../../src/app.ts';
import { makeLog } from '../../../src/base/observe.ts';
import { readSettings } from '../../../src/config.ts';
import { usePostgres } from '../postgres.ts';
import { aRedisPrefix, useRedis } from '../redis.ts';
import { s3Settings } from '../s3.ts';
import { services } from '../services.ts';
import { startCluster } from './cluster.ts';
import { quietPorts } from './free-port.ts';

export interface TestServer {
  /** Origin, without a slash at its end. */
  readonly url: string;
  /** The same for sockets: `ws://host:port`. */
  readonly socketUrl: string;
  readonly secretKey: string;
  readonly publicKey: string;
  /** The SDK of a customer's back end. */
  readonly backend: Liveblocks;
  /** Stops it in order and starts it again on the same port and data. Only where the server is ours. */
  restart(): Promise<void>;
}

/** Whether the server is somebody else's: it can be neither configured nor restarted by a test. */
export const isExternal = process.env.E2E_URL !== undefined;

/** Call at the top of a test file; the server ends with the file. `settings` are those of `src/config.ts`, ignored when external. */
export async function aServer(settings: Readonly<Record<string, string>> = {}): Promise<TestServer> {
  return isExternal ? externalServer() : ownServer(settings);
}

function externalServer(): TestServer {
  const url = environment('E2E_URL').replace(/\/$/, '');
  const restart = async (): Promise<void> => {
    throw new Error('an external server is not ours to restart');
  };
  return { ...addresses(url), ...keys(environment('E2E_SECRET_KEY'), environment('E2E_PUBLIC_KEY'), url), restart };
}

/** Whether the files run against a cluster of several workers instead of one. */
export const isCluster = process.env.E2E_CLUSTER !== undefined;

/** The services of a cluster cannot be had; the line that says so was printed before the first test. */
function skipAll(): TestServer {
  beforeEach(({ skip }) => skip());
  return {
    ...addresses('http://127.0.0.1:1'),
    ...keys('sk_none', 'pk_none', 'http://127.0.0.1:1'),
    restart: async () => undefined,
  };
}

/** What goes wrong on the server's side is said beside the test that sees it. */
const errorLog = makeLog('error', process.stdout);

async function ownServer(settings: Readonly<Record<string, string>>): Promise<TestServer> {
  if (isCluster && !(services.has('redis') && services.has('ceph'))) return skipAll();
  const clusterOnly: Record<string, string> = isCluster ? await clusterServices() : {};
  const folder = await mkdtemp(join(tmpdir(), 'atrium-e2e-'));
  const database = await usePostgres().database();
  const own = { secretKey: `sk_${randomBytes(16).toString('hex')}`, publicKey: `pk_${randomBytes(16).toString('hex')}` };
  const port = await quietPorts(1);
  const all = {
    HOST: '127.0.0.1',
    PORT: String(port),
    DATA_DIR: folder,
    SECRET_KEY: own.secretKey,
    PUBLIC_KEY: own.publicKey,
    STORAGE_TYPE_KEY: 'liveblocksType',
    SHED_LAG_MS: '60000', // it shares its event loop with the clients, and its machine with whatever else is tested: what is late there is no overload
    DATABASE_URL: database,
    ...clusterOnly,
    ...settings,
  };
  const start = (): Promise<Pick<App, 'url' | 'stop'>> =>
    isCluster ? startCluster(all) : startApp(readSettings(all), { log: errorLog, onFatal: unexpected });
  let app = await start();
  afterAll(async () => {
    await app.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const restart = async (): Promise<void> => {
    await app.stop();
    app = await start();
  };
  return { ...addresses(app.url), ...keys(own.secretKey, own.publicKey, app.url), restart };
}

/** What workers share, beside the database. */
async function clusterServices(): Promise<Record<string, string>> {
  return { REDIS_URL: await useRedis().url(), REDIS_PREFIX: aRedisPrefix(), ...(await s3Settings('atrium-e2e')) };
}

/** Fails the test run, whatever test is on. */
function unexpected(reason: string): void {
  throw new Error(`the server gave up: ${reason}`);
}

function addresses(url: string): Pick<TestServer, 'url' | 'socketUrl'> {
  return { url, socketUrl: url.replace(/^http/, 'ws') };
}

function keys(secretKey: string, publicKey: string, baseUrl: string): Pick<TestServer, 'secretKey' | 'publicKey' | 'backend'> {
  return { secretKey, publicKey, backend: new Liveblocks({ secret: secretKey, baseUrl }) };
}

function environment(name: string): string {
  const value = process.env[name];
  if (value === undefined || value === '') throw new Error(`E2E_URL is set, so ${name} must be set too`);
  return value;
}

/** A room id that no other test has, on whatever server. */
export function freshRoomId(subject: string): string {
  return `e2e:${subject}:${randomBytes(6).toString('hex')}`;
}
