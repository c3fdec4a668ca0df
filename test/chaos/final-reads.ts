/** Every room by every route: from each node over REST and over sockets of both kinds, once all is healed and quiet. */
import { WebSocket } from 'ws';
import { WebsocketProvider } from 'y-websocket';
import * as Y from 'yjs';
import { asMessages, CODE } from '../support/e2e/messages.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { type Content, contentOf, idsOfRooms, type StoredDocument, storageIn, type Target } from '../support/writing/place.ts';
import type { FinalRead, Phase } from './checks/evidence.ts';
import { type ChaosCluster, NODES } from './cluster.ts';

const READ_MS_MAX = 30_000;

/** @throws an Error when a room cannot be read */
export async function readFinally(
  cluster: ChaosCluster,
  { rooms, phase }: { rooms: readonly string[]; phase: Phase },
): Promise<FinalRead[]> {
  const reads: FinalRead[] = [];
  const token = await accessTokenFor(cluster.server, { userId: 'last' });
  for (const room of rooms) {
    for (let node = 0; node < NODES; node += 1) {
      const server = cluster.serverOf(node);
      const rest = await patiently(`${room} is read over REST`, () => contentOf(server, room));
      const overSockets: Content = {
        storage: await patiently(`${room} is read over a socket`, () => readStorage(server, { room, token })),
        ydoc: await patiently(`${room} is read over y-websocket`, () => readYdoc(server, { room, token })),
      };
      reads.push({ route: `REST of n${node}`, phase, room, content: rest });
      reads.push({ route: `sockets of n${node}`, phase, room, content: overSockets });
    }
  }
  return reads;
}

export function readRooms(cluster: ChaosCluster, prefix: string): Promise<string[]> {
  return patiently('rooms are listed', () => idsOfRooms(cluster.server, prefix));
}

function patiently<Value extends object | string>(what: string, read: () => Promise<Value>): Promise<Value> {
  const boxed = async () => ({ value: await read() });
  return until(what, boxed, { timeoutMs: READ_MS_MAX }).then(({ value }) => value);
}

interface Door {
  readonly room: string;
  readonly token: string;
}

async function readStorage(server: Target, { room, token }: Door): Promise<StoredDocument> {
  const address = new URL('/v8', server.socketUrl);
  address.search = new URLSearchParams({ roomId: room, tok: token, version: '3.24.2' }).toString();
  const socket = new WebSocket(address, { handshakeTimeout: READ_MS_MAX });
  const nodes: unknown[][] = [];
  try {
    await new Promise<void>((resolve, reject) => {
      socket.on('error', reject);
      socket.on('close', (code) => reject(new Error(`closed with ${code}`)));
      socket.on('message', (data) => {
        for (const message of asMessages(String(data))) {
          if (message.type === CODE.roomState) socket.send(JSON.stringify([{ type: CODE.fetchStorage }]));
          else if (message.type === CODE.storageChunk) nodes.push(...message.nodes);
          else if (message.type === CODE.storageEnd) resolve();
        }
      });
    });
    return storageIn(nodes);
  } finally {
    socket.close();
  }
}

async function readYdoc(server: Target, { room, token }: Door): Promise<string> {
  const doc = new Y.Doc();
  const provider = new WebsocketProvider(`${server.socketUrl}/yjs`, encodeURIComponent(room), doc, {
    params: { token },
    WebSocketPolyfill: WebSocket as never,
    disableBc: true,
  });
  try {
    await until('y-websocket has synced', () => provider.synced);
    return doc.getText('text').toString();
  } finally {
    provider.destroy();
  }
}
