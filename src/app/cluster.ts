/** How this worker reaches the others: bus and directory, in memory when it is the only one, over TCP and Redis otherwise. */
import { hkdfSync } from 'node:crypto';
import { MemoryNetwork } from '../adapters/memory-bus.ts';
import { MemoryDirectory } from '../adapters/memory-directory.ts';
import { openRedisDirectory } from '../adapters/redis-directory.ts';
import { listenTcpBus } from '../adapters/tcp-bus.ts';
import { systemClock, systemRandom } from '../base/clock.ts';
import { asWorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Settings } from '../config.ts';
import type { Bus } from '../kernel/cluster/bus.ts';
import type { Directory } from '../kernel/cluster/directory.ts';
import { derived, type ServerKeys } from './keys.ts';

export interface Cluster {
  readonly bus: Bus;
  readonly directory: Directory;
  /** Begins the ids of this worker's sessions. */
  readonly workerName: string;
  close(): Promise<void>;
}

interface OpenCluster {
  readonly log: Log;
  readonly keys: ServerKeys;
  readonly workerName: string;
}

/** @throws StartRefused when an address cannot be had or REDIS_URL is wrong. */
export async function openCluster(settings: Settings, options: OpenCluster): Promise<Cluster> {
  const { workerName } = options;
  const { bus, directory } = settings.REDIS_URL === undefined ? alone(settings, options) : await amongOthers(settings, options);
  return { bus, directory, workerName, close: async () => void (await Promise.all([bus.close(), directory.close()])) };
}

type Ways = Pick<Cluster, 'bus' | 'directory'>;

function alone({ HOST, PORT }: Settings, { log }: OpenCluster): Ways {
  const bus = new MemoryNetwork({ clock: systemClock, log }).join(asWorkerAddress(`${HOST}:${PORT}`));
  return { bus, directory: new MemoryDirectory({ clock: systemClock }) };
}

async function amongOthers(settings: Settings, { log, keys, workerName }: OpenCluster): Promise<Ways> {
  const { REDIS_URL = '', REDIS_PREFIX, BUS_HOST, BUS_PORT } = settings;
  const directory = openRedisDirectory({ url: REDIS_URL, prefix: REDIS_PREFIX, clock: systemClock, log });
  const secrets = derived(keys.secretKeys, busSecretFrom);
  const bus = await listenTcpBus({
    host: BUS_HOST,
    port: BUS_PORT,
    secrets,
    name: workerName,
    clock: systemClock,
    random: systemRandom,
    log,
  }).catch(async (error: unknown) => {
    await directory.close();
    throw error;
  });
  return { bus, directory };
}

/** What workers of one installation prove to each other that they have. */
function busSecretFrom(secretKey: string): Uint8Array {
  return new Uint8Array(hkdfSync('sha256', secretKey, '', 'atrium bus 1', 32));
}
