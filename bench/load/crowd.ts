/** Many light clients in one room: plain sockets that know when they have entered, and nothing else of the protocol. */
import { setTimeout as sleep } from 'node:timers/promises';
import { WebSocket } from 'ws';
import type { Trial } from '../case.ts';
import { ENTER_MS_MAX } from '../config.ts';
import type { Door } from '../servers/server.ts';

/** Sockets opened at a time: more would wait in the system's queue and time out there. */
const ENTERING_MAX = 25;
const TEXT = { binary: false } as const;

export interface Entry {
  readonly door: Door;
  readonly roomId: string;
  readonly clients: number;
  /** Said as soon as the socket is open. */
  readonly hello?: Buffer;
  /** Whether this frame tells a client that it is in the room. */
  readonly isWelcome: (frame: Buffer) => boolean;
  /** Gets every frame, the welcome included. */
  readonly receive: (client: number, frame: Buffer) => void;
}

export class Crowd {
  /** Sockets that the server closed, in words. */
  readonly losses: string[] = [];
  /** The frame that welcomed each client. */
  readonly welcomes: Buffer[] = [];
  readonly #sockets: WebSocket[] = [];
  readonly #entry: Entry;
  #isLeaving = false;

  private constructor(entry: Entry) {
    this.#entry = entry;
  }

  /** Makes the room and enters it with all clients. @throws an Error when one of them does not get in. */
  static async enter({ server, address }: Pick<Trial, 'server' | 'address'>, entry: Entry): Promise<Crowd> {
    await server.openRoom(address, entry.roomId);
    const url = server.url(address, entry.door, entry.roomId);
    const crowd = new Crowd(entry);
    for (let first = 0; first < entry.clients; first += ENTERING_MAX) {
      const count = Math.min(ENTERING_MAX, entry.clients - first);
      await crowd.#within(Promise.all(Array.from({ length: count }, (_, index) => crowd.#enter(first + index, url))));
    }
    return crowd;
  }

  /** Sends a frame made before: as text to an SDK's server, else as bytes. */
  send(client: number, frame: Buffer): void {
    if (this.#entry.door === 'sdk') this.#sockets[client]!.send(frame, TEXT);
    else this.#sockets[client]!.send(frame);
  }

  /** From now on this client reads nothing. */
  pause(client: number): void {
    this.#sockets[client]!.pause();
  }

  leave(): void {
    this.#isLeaving = true;
    for (const socket of this.#sockets) socket.terminate();
  }

  #enter(client: number, url: string): Promise<void> {
    const { hello, isWelcome, receive } = this.#entry;
    const socket = new WebSocket(url, { perMessageDeflate: false, skipUTF8Validation: true });
    this.#sockets[client] = socket;
    return new Promise((resolve, reject) => {
      socket.on('open', () => hello !== undefined && this.send(client, hello));
      socket.on('message', (frame: Buffer) => {
        if (this.welcomes[client] === undefined && isWelcome(frame)) {
          this.welcomes[client] = frame;
          resolve();
        }
        receive(client, frame);
      });
      socket.on('error', reject);
      socket.on('close', (code, reason) => {
        if (this.#isLeaving) return;
        this.losses.push(`client ${client} was closed with ${code} ${String(reason)}`);
        reject(new Error(this.losses.at(-1)));
      });
    });
  }

  async #within(entering: Promise<unknown>): Promise<void> {
    const stopWaiting = new AbortController();
    const late = sleep(ENTER_MS_MAX, null, { signal: stopWaiting.signal }).then(() => {
      throw new Error(`not all clients were in the room after ${ENTER_MS_MAX} ms`);
    });
    try {
      await Promise.race([entering, late]);
    } catch (error) {
      this.leave();
      throw error;
    } finally {
      stopWaiting.abort();
      late.catch(() => undefined); // the abort
    }
  }
}
