/** Atrium as four workers under a supervisor, behind one port, on Postgres, Redis and S3 of their own. All of it on the server's core. */
import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Stores, startStores } from '../../test/chaos/stores.ts';
import { quietPorts } from '../../test/support/e2e/free-port.ts';
import { stop } from '../processes.ts';
import { atrium, type Settings, startAtriumOn } from './atrium.ts';
import { type Address, type Running, restUrl, type Server } from './server.ts';

const DATABASE = 'bench';
const WORKERS_KNOWN_MS = 2_000;

/** The pid is the supervisor's: its workers are what `cpu.ts` counts as helpers; the stores belong to the runner. */
export function atriumCluster(workers: number, settings: Settings): Server {
  return { ...atrium, name: `atrium × ${workers}`, start: () => startCluster(workers, settings) };
}

async function startCluster(workers: number, settings: Settings): Promise<Running> {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-bench-'));
  let stores: Stores | null = null;
  const clear = async (): Promise<void> => {
    await stores?.stop();
    await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  };
  try {
    await chmod(folder, 0o755);
    stores = await startStores(folder);
    await stores.postgres.ask('postgres', `create database ${DATABASE}`);
    const dataDir = join(folder, 'data');
    await mkdir(dataDir);
    const first = await quietPorts(2 * workers);
    const ports = { WORKERS: String(workers), BUS_PORT: String(first), ADMIN_PORT: String(first + workers) };
    const { running, started } = await startAtriumOn(dataDir, { ...ports, ...settingsOf(stores), ...settings });
    await untilAllServe(running, { workers, adminPort: first + workers });
    return { ...running, adminPort: first + workers, stop: () => stop(started).then(clear) };
  } catch (error) {
    await clear();
    throw error;
  }
}

async function untilAllServe(at: Address, { workers, adminPort }: { workers: number; adminPort: number }): Promise<void> {
  for (let worker = 0; worker < workers; worker += 1) {
    for (;;) {
      const own = { ...at, port: adminPort + worker };
      const answer = await fetch(restUrl(own, '/readyz')).catch(() => null);
      await answer?.arrayBuffer();
      if (answer?.status === 200) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
  await new Promise((resolve) => setTimeout(resolve, WORKERS_KNOWN_MS)); // and have heard of each other
}

function settingsOf({ postgres, redis, s3 }: Stores): Settings {
  return {
    DATABASE_URL: postgres.url(DATABASE),
    REDIS_URL: `redis://${redis.address}`,
    REDIS_PREFIX: 'bench',
    S3_BUCKET: 'bench',
    S3_ENDPOINT: `http://127.0.0.1:${s3.port}`,
    S3_FORCE_PATH_STYLE: 'true',
    S3_CREATE_BUCKET: 'true',
    AWS_ACCESS_KEY_ID: s3.accessKey,
    AWS_SECRET_ACCESS_KEY: s3.secretKey,
  };
}
