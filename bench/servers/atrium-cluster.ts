/** One worker of Atrium in a cluster: its Postgres, Redis and S3 are servers of their own, on the same core, started by `stores-process.ts`. */
import { CORES, START_MS_MAX } from '../config.ts';
import { type Started, start, stop } from '../processes.ts';
import { doors, MAIN, SETTINGS } from './atrium.ts';
import { type Address, freePort, type Running, type Server, untilServing } from './server.ts';

const STORES = new URL('./stores-process.ts', import.meta.url);

export const atriumCluster: Server = { name: 'atrium-cluster', start: startWorker, ...doors };

async function startWorker(): Promise<Running> {
  const stores = start(STORES, { core: CORES.server, language: 'ts' });
  try {
    const whereabouts = await settingsFrom(stores);
    const port = await freePort();
    const env = { ...SETTINGS, ...whereabouts, PORT: String(port), BUS_PORT: '0' };
    const worker = start(MAIN, { core: CORES.server, env, language: 'js' });
    const address: Address = { port, pid: worker.pid, storesPid: stores.pid };
    await untilServing(worker, address, '/health');
    return { ...address, output: worker.output, stop: () => stop(worker).then(() => stop(stores)) };
  } catch (error) {
    await stop(stores);
    throw error;
  }
}

/** The stores say where they are as settings of the server. */
function settingsFrom({ child, ended, output }: Started): Promise<Record<string, string>> {
  return new Promise((resolve, reject) => {
    child.once('message', (settings) => resolve(settings as Record<string, string>));
    void ended.then((reason) => reject(new Error(`the stores did not start, ${reason}: ${output()}`)));
    setTimeout(() => reject(new Error(`the stores did not start within ${START_MS_MAX} ms`)), START_MS_MAX).unref();
  });
}
