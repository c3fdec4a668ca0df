/** hocuspocus without extensions: a `Y.Doc` for every room, in memory. Its process is `peers/hocuspocus.mjs`. */
import * as encoding from 'lib0/encoding';
import { CORES } from '../config.ts';
import { start, stop } from '../processes.ts';
import { installPeers, peerFile } from './peer-packages.ts';
import { type Address, type Dialect, freePort, HOST, type Running, type Server, untilServing } from './server.ts';

const AUTHENTICATE = 2;
const TOKEN = 0;

export const hocuspocus: Server = {
  name: 'hocuspocus',
  start: startServer,
  openRoom: async () => undefined,
  url({ port }, door) {
    if (door === 'sdk') throw new Error('hocuspocus does not speak the protocol of the SDK');
    return `ws://${HOST}:${port}/`;
  },
  dialect: withNames,
  yjsEcho: 'echoed',
};

async function startServer(): Promise<Running> {
  installPeers('.');
  const port = await freePort();
  const env = { HOST, PORT: String(port) };
  const started = start(peerFile('hocuspocus.mjs'), { core: CORES.server, env, language: 'js' });
  const address: Address = { port, pid: started.pid };
  await untilServing(started, address, '/');
  return { ...address, output: started.output, stop: () => stop(started) };
}

/** Every frame begins with the name of its document; who enters shows a token first, here one that nobody checks. */
function withNames(roomId: string): Dialect {
  const name = encoded((encoder) => encoding.writeVarString(encoder, roomId));
  const token = encoded((encoder) => {
    encoding.writeVarUint(encoder, AUTHENTICATE);
    encoding.writeVarUint(encoder, TOKEN);
    encoding.writeVarString(encoder, 'bench');
  });
  return {
    format: 'bytes',
    greeting: [Buffer.concat([name, token])],
    toWire: (frame) => Buffer.concat([name, frame]),
    fromWire: (frame) => frame.subarray(name.length),
  };
}

function encoded(write: (encoder: encoding.Encoder) => void): Buffer {
  const encoder = encoding.createEncoder();
  write(encoder);
  return Buffer.from(encoding.toUint8Array(encoder));
}
