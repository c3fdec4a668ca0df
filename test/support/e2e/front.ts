/**
 * A front for a cluster that leads each connection to a worker which does not own the room it asks for, nor would be preferred for it: what
 * works behind it does not depend on where a client lands. A connection that names no room goes to any worker.
 */
import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Front {
  readonly port: number;
  close(): Promise<void>;
}

/** What is read of a connection before it is led on: its first line names the room. */
const HEAD_BYTES_MAX = 64 * 1024;

export async function openFront(options: {
  port: number;
  /** A port of a worker for this room; null: no room was named. */
  leadTo: (roomId: string | null) => Promise<number>;
}): Promise<Front> {
  const sockets = new Set<Socket>();
  const server = createServer((near) => {
    sockets.add(near);
    near.on('close', () => sockets.delete(near));
    near.on('error', () => near.destroy());
    void lead(near, options.leadTo);
  });
  server.listen(options.port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async close() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

async function lead(near: Socket, leadTo: (roomId: string | null) => Promise<number>): Promise<void> {
  const head: Buffer[] = [];
  let bytes = 0;
  const first = await new Promise<string | null>((resolve) => {
    const take = (chunk: Buffer): void => {
      head.push(chunk);
      bytes += chunk.length;
      const text = Buffer.concat(head).toString('latin1');
      const end = text.indexOf('\r\n');
      if (end < 0 && bytes < HEAD_BYTES_MAX) return;
      near.off('data', take);
      near.pause();
      resolve(text.slice(0, end));
    };
    near.on('data', take);
    near.once('close', () => resolve(null));
  });
  if (first === null) return;
  const far = connect({ host: '127.0.0.1', port: await leadTo(roomIdIn(first)) });
  far.on('error', () => near.destroy());
  far.on('close', () => near.destroy());
  near.on('close', () => far.destroy());
  far.write(Buffer.concat(head));
  near.pipe(far);
  far.pipe(near);
}

/** The room that a request line names: `/v8?roomId=…`, `/yjs/…`, `/v2/rooms/…`. */
export function roomIdIn(requestLine: string): string | null {
  const [, target = ''] = requestLine.split(' ');
  const found = /^\/v8\?.*?\broomId=([^&]*)/.exec(target) ?? /^\/(?:yjs|v2\/rooms)\/([^/?]+)/.exec(target);
  try {
    return found === null ? null : decodeURIComponent(found[1]!);
  } catch {
    return null; // malformed: every worker refuses it alike
  }
}
