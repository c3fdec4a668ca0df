/** The server of y-websocket as its package starts it: a `Y.Doc` for every room, in memory. It is on Yjs 13, as its clients are (0.1.5 needs a preview of 14). */
import { CORES } from '../config.ts';
import { start, stop } from '../processes.ts';
import { installPeers, peerFile } from './peer-packages.ts';
import { type Address, freePort, HOST, type Running, type Server, untilServing } from './server.ts';

export const yWebsocket: Server = {
  name: 'y-websocket',
  start: startServer,
  openRoom: async () => undefined,
  url({ port }, door, roomId) {
    if (door === 'sdk') throw new Error('y-websocket does not speak the protocol of the SDK');
    return `ws://${HOST}:${port}/${encodeURIComponent(roomId)}`;
  },
  yjsEcho: 'echoed',
};

async function startServer(): Promise<Running> {
  installPeers('.');
  const port = await freePort();
  const env = { HOST, PORT: String(port) };
  const started = start(peerFile('y-websocket.mjs'), { core: CORES.server, env, language: 'js' });
  const address: Address = { port, pid: started.pid };
  await untilServing(started, address, '/');
  return { ...address, output: started.output, stop: () => stop(started) };
}
