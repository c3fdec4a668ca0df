/** One socket to a room. It says and hears the frames of y-websocket, or of the SDK, whatever form a server gives them. */
import { WebSocket } from 'ws';
import type { Trial } from '../case.ts';
import type { Dialect, Door } from '../servers/server.ts';

const TEXT = { binary: false } as const;

export type Place = Pick<Trial, 'server' | 'address'>;

/** How a room is entered; made once for all who enter it. */
export interface Way {
  readonly url: string;
  readonly dialect: Dialect | null;
  readonly isText: boolean;
}

export function wayInto({ server, address }: Place, door: Door, roomId: string): Way {
  const dialect = (door === 'yjs' && server.dialect?.(roomId)) || null;
  return { url: server.url(address, door, roomId), dialect, isText: door === 'sdk' || dialect?.format === 'text' };
}

export class Line {
  readonly socket: WebSocket;
  readonly #way: Way;

  /** Dials. The hello is said as soon as the socket is open. */
  constructor(way: Way, { hello, hear }: { readonly hello?: Buffer | undefined; readonly hear: (frame: Buffer) => void }) {
    this.#way = way;
    this.socket = new WebSocket(way.url, { perMessageDeflate: false, skipUTF8Validation: true });
    this.socket.on('open', () => {
      for (const frame of way.dialect?.greeting ?? []) this.#send(frame);
      if (hello !== undefined) this.say(hello);
    });
    this.socket.on('message', (said: Buffer) => {
      const frame = way.dialect === null ? said : way.dialect.fromWire(said);
      if (frame !== null) hear(frame);
    });
  }

  /** Sends a frame made before. */
  say(frame: Buffer): void {
    this.#send(this.#way.dialect === null ? frame : this.#way.dialect.toWire(frame));
  }

  #send(frame: Buffer): void {
    if (this.#way.isText) this.socket.send(frame, TEXT);
    else this.socket.send(frame);
  }
}
