/** One socket to a room. It says and hears the frames of y-websocket, or of the SDK, whatever form a server gives them. */
import type { Trial } from '../case.ts';
import type { Dialect, Door } from '../servers/server.ts';
import { type Dial, dialOf, LightSocket } from './light-socket.ts';

export type Place = Pick<Trial, 'server' | 'address'>;

/** How a room is entered; made once for all who enter it. */
export interface Way {
  readonly dial: Dial;
  readonly dialect: Dialect | null;
  readonly isText: boolean;
}

export function wayInto({ server, address }: Place, door: Door, roomId: string): Way {
  const dialect = (door === 'yjs' && server.dialect?.(roomId)) || null;
  return { dial: dialOf(server.url(address, door, roomId)), dialect, isText: door === 'sdk' || dialect?.format === 'text' };
}

export class Line {
  readonly socket: LightSocket;
  readonly #way: Way;

  /** Dials. The hello is said as soon as the socket is open. What `hear` gets lies in memory that is used again: who keeps a frame copies it. */
  constructor(way: Way, { hello, hear }: { readonly hello?: Buffer | undefined; readonly hear: (frame: Buffer) => void }) {
    this.#way = way;
    this.socket = new LightSocket(way.dial, (said) => {
      const frame = way.dialect === null ? said : way.dialect.fromWire(said);
      if (frame !== null) hear(frame);
    });
    this.socket.once('open', () => {
      for (const frame of way.dialect?.greeting ?? []) this.#send(frame);
      if (hello !== undefined) this.say(hello);
    });
  }

  /** Sends a frame made before. */
  say(frame: Buffer): void {
    this.#send(this.#way.dialect === null ? frame : this.#way.dialect.toWire(frame));
  }

  #send(frame: Buffer): void {
    if (this.#way.isText) this.socket.sendText(frame);
    else this.socket.sendBytes(frame);
  }
}
