/** Atrium in a cluster: its Postgres, Redis and S3 are servers of their own, on the same core, started by `stores-process.ts`. */
import { setTimeout as sleep } from 'node:timers/promises';
import { quietPorts } from '../../test/support/e2e/free-port.ts';
import { CORES, START_MS_MAX } from '../config.ts';
import { type Started, start, stop } from '../processes.ts';
import { doors, type Settings, startMain } from './atrium.ts';
import { type Running, type Server, untilServing } from './server.ts';

const STORES = new URL('./stores-process.ts', import.meta.url);
const FOUR = 4;
const WORKERS_KNOWN_MS = 2_000;

/** One worker. */
export const atriumCluster: Server = atriumClusterWith({});

/** The same with settings that a case needs. */
export function atriumClusterWith(settings: Settings): Server {
  return { name: 'atrium-cluster', start: () => startBesideStores((stores) => startOne({ ...stores, ...settings })), ...doors };
}

/** Four workers under a supervisor, behind one port, with settings that a case needs. */
export function atriumFourWith(settings: Settings): Server {
  return { name: 'atrium-four', start: () => startBesideStores((stores) => startFour({ ...stores, ...settings })), ...doors };
}

/** Stores first; they end when the server has. On the worker's core they interrupt it as little as the embedded Postgres does (PG17). */
async function startBesideStores(startServer: (stores: Settings) => Promise<Running>): Promise<Running> {
  const stores = start(STORES, { core: CORES.server, language: 'ts', priority: 'batch' });
  try {
    const running = await startServer(await settingsFrom(stores));
    return { ...running, storesPid: stores.pid, stop: () => running.stop().finally(() => stop(stores)) };
  } catch (error) {
    await stop(stores);
    throw error;
  }
}

async function startOne(settings: Settings): Promise<Running> {
  return (await startMain({ BUS_PORT: '0', ...settings })).running;
}

/** A worker has the ports of the first, each with its own number added. */
async function startFour(settings: Settings): Promise<Running> {
  const first = await quietPorts(2 * FOUR);
  const adminPort = first + FOUR;
  const ports = { BUS_PORT: String(first), ADMIN_PORT: String(adminPort) };
  const { running, started } = await startMain({ WORKERS: String(FOUR), ...ports, ...settings });
  for (let worker = 0; worker < FOUR; worker += 1) {
    await untilServing(started, { ...running, port: adminPort + worker }, '/readyz');
  }
  await sleep(WORKERS_KNOWN_MS); // and have heard of each other
  return { ...running, children: 'workers' };
}

/** The stores say where they are as settings of the server. */
function settingsFrom({ child, ended, output }: Started): Promise<Settings> {
  return new Promise((resolve, reject) => {
    child.once('message', (settings) => resolve(settings as Settings));
    void ended.then((reason) => reject(new Error(`the stores did not start, ${reason}: ${output()}`)));
    setTimeout(() => reject(new Error(`the stores did not start within ${START_MS_MAX} ms`)), START_MS_MAX).unref();
  });
}
