/** The floor: a relay on uWebSockets.js that parses nothing, keeps nothing and checks nothing. Its process is `raw-uws-process.ts`. */
import { CORES } from '../config.ts';
import { start, stop } from '../processes.ts';
import { type Address, freePort, HOST, type Running, type Server, untilServing } from './server.ts';

const PROCESS = new URL('./raw-uws-process.ts', import.meta.url);

export const rawUws: Server = {
  name: 'raw-uws',
  start: () => startRelay('not kept'),
  openRoom: async () => undefined,
  url: ({ port }, door, roomId) => `ws://${HOST}:${port}/${door}/${encodeURIComponent(roomId)}`,
};

/** The same, which keeps what is typed and hands it to newcomers as it is. */
export const rawUwsWithDocuments: Server = { ...rawUws, start: () => startRelay('kept') };

async function startRelay(documents: 'kept' | 'not kept'): Promise<Running> {
  const port = await freePort();
  const started = start(PROCESS, { core: CORES.server, env: { PORT: String(port), DOCUMENTS: documents }, language: 'ts' });
  const address: Address = { port, pid: started.pid };
  await untilServing(started, address, '/health');
  return { ...address, output: started.output, stop: () => stop(started) };
}
