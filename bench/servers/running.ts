/** A server that runs already, somewhere: it is neither started nor stopped here, and its keys are those of whoever asks for the load. */
import type { Door } from './server.ts';

export interface RunningServer {
  /** Makes the room, open to everybody with the public key. @throws an Error with the answer unless it is a success. */
  openRoom(roomId: string): Promise<void>;
  deleteRoom(roomId: string): Promise<void>;
  url(door: Door, roomId: string): string;
}

export interface Whereabouts {
  /** `https://rooms.example.com`, without a path. */
  readonly url: string;
  readonly secretKey: string;
  readonly publicKey: string;
}

export function runningServer({ url, secretKey, publicKey }: Whereabouts): RunningServer {
  const base = url.replace(/\/$/, '');
  const sockets = base.replace(/^http/, 'ws');
  const ask = async (method: string, path: string, body?: unknown): Promise<void> => {
    const headers = { authorization: `Bearer ${secretKey}`, 'content-type': 'application/json' };
    const response = await fetch(`${base}${path}`, {
      method,
      headers,
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const answer = await response.text();
    if (!response.ok) throw new Error(`${method} ${base}${path} answered ${response.status}: ${answer.slice(0, 500)}`);
  };
  return {
    openRoom: (id) => ask('POST', '/v2/rooms?idempotent=true', { id, defaultAccesses: ['*:write'] }),
    deleteRoom: (id) => ask('DELETE', `/v2/rooms/${encodeURIComponent(id)}`),
    url(door, roomId) {
      const room = encodeURIComponent(roomId);
      return door === 'yjs'
        ? `${sockets}/yjs/${room}?pubkey=${publicKey}`
        : `${sockets}/v8?roomId=${room}&pubkey=${publicKey}&version=3.24.2`;
    },
  };
}
