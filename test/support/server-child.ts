/** A process with one server that has served a request and a socket and is closed; it should end by itself. Argument: uws or node. */
import { makeNodeServer } from '../../src/adapters/node-server.ts';
import { loadUws } from '../../src/adapters/uws-server.ts';
import { ask, Peer, startServer } from './server-peer.ts';

const server = await startServer(process.argv[2] === 'uws' ? await loadUws() : makeNodeServer);
await ask(server.port);
const peer = new Peer(server.port);
await peer.opened;
await server.close();
await peer.closed;
console.log('closed');
