/** The floor: a relay on uWebSockets.js that parses nothing, keeps nothing and checks nothing. Its process is `raw-uws-process.ts`. */
import { rm } from 'node:fs/promises';
import { CORES } from '../config.ts';
import { start, stop } from '../processes.ts';
import { aDataDir, type Settings } from './atrium.ts';
import { type Address, freePort, HOST, type Running, type Server, untilServing } from './server.ts';

const PROCESS = new URL('./raw-uws-process.ts', import.meta.url);
const ROOMS_PROCESS = new URL('./raw-uws-rooms-process.ts', import.meta.url);

export const rawUws: Server = {
  name: 'raw-uws',
  start: () => startRelay({}),
  openRoom: async () => undefined,
  url: ({ port }, door, roomId) => `ws://${HOST}:${port}/${door}/${encodeURIComponent(roomId)}`,
};

/** The same, which keeps what is typed and hands it to newcomers as it is. */
export const rawUwsWithDocuments: Server = { ...rawUws, start: () => startRelay({ DOCUMENTS: 'kept' }) };

/** The floor of who keeps a promise: it answers and acknowledges a write when it is in Postgres, a private one on its core, as ours. */
export const rawUwsWithCommits: Server = { ...rawUws, name: 'raw-uws-commits', start: () => startWithData(PROCESS) };

/** The floor of who keeps rooms: our rooms decide, and our journal keeps what they decide; for clients of y-websocket. Its process is `raw-uws-rooms-process.ts`. */
export const rawUwsWithRooms: Server = {
  ...rawUws,
  name: 'raw-uws-rooms',
  start: () => startWithData(ROOMS_PROCESS),
  openRoom: async ({ port }, roomId) => {
    const response = await fetch(`http://${HOST}:${port}/${encodeURIComponent(roomId)}`, { method: 'POST' });
    if (!response.ok) throw new Error(`the room ${roomId} was not made: ${response.status}`);
  },
};

async function startWithData(process: URL): Promise<Running> {
  const dataDir = await aDataDir();
  const removeData = (): Promise<void> => rm(dataDir, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
  try {
    const running = await startRelay({ DATA_DIR: dataDir }, process);
    return { ...running, stop: () => running.stop().then(removeData) };
  } catch (error) {
    await removeData();
    throw error;
  }
}

async function startRelay(settings: Settings, process = PROCESS): Promise<Running> {
  const port = await freePort();
  const started = start(process, { core: CORES.server, env: { PORT: String(port), ...settings }, language: 'ts' });
  const address: Address = { port, pid: started.pid };
  await untilServing(started, address, '/health');
  return { ...address, output: started.output, stop: () => stop(started) };
}
