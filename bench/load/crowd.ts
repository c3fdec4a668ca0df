/** Many light clients in one room: plain sockets that know when they have entered, and nothing else of the protocol. */
import { setTimeout as sleep } from 'node:timers/promises';
import { ENTER_MS_MAX } from '../config.ts';
import type { Door } from '../servers/server.ts';
import { Line, type Place, type Way, wayInto } from './line.ts';

/** Sockets opened at a time: more would wait in the system's queue and time out there. */
const ENTERING_MAX = 25;

export interface Entry {
  readonly door: Door;
  readonly roomId: string;
  readonly clients: number;
  /** Said as soon as the socket is open. */
  readonly hello?: Buffer;
  /** Whether this frame tells a client that it is in the room. */
  readonly isWelcome: (frame: Buffer) => boolean;
  /** Whether it is all that a client asked for on entering; when absent, the welcome is. */
  readonly isComplete?: (frame: Buffer) => boolean;
  /** Gets every frame, the welcome included. Who keeps one copies it. */
  readonly receive: (client: number, frame: Buffer) => void;
}

export class Crowd {
  /** Sockets that the server closed, in words. */
  readonly losses: string[] = [];
  /** The frame that welcomed each client. */
  readonly welcomes: Buffer[] = [];
  readonly #lines: Line[] = [];
  readonly #entry: Entry;
  readonly #way: Way;
  #isLeaving = false;

  /** Nobody is in the room yet, which must be there. */
  constructor(place: Place, entry: Entry) {
    this.#entry = entry;
    this.#way = wayInto(place, entry.door, entry.roomId);
  }

  /** Makes the room and enters it with all clients. @throws an Error when one of them does not get in. */
  static async enter(place: Place, entry: Entry): Promise<Crowd> {
    await place.server.openRoom(place.address, entry.roomId);
    const crowd = new Crowd(place, entry);
    for (let first = 0; first < entry.clients; first += ENTERING_MAX) {
      const count = Math.min(ENTERING_MAX, entry.clients - first);
      await crowd.#within(Promise.all(Array.from({ length: count }, (_, index) => crowd.admit(first + index))));
    }
    return crowd;
  }

  /** Sends a frame made before: as text to an SDK's server, else as bytes. */
  send(client: number, frame: Buffer): void {
    this.#lines[client]!.say(frame);
  }

  /** From now on this client reads nothing. */
  pause(client: number): void {
    this.#lines[client]!.socket.pause();
  }

  leave(): void {
    this.#isLeaving = true;
    for (const { socket } of this.#lines) socket.terminate();
  }

  /** One client enters. Rejects when it does not get in. */
  admit(client: number): Promise<void> {
    const { hello, isWelcome, isComplete = isWelcome, receive } = this.#entry;
    let isWaiting = true;
    return new Promise((resolve, reject) => {
      const hear = (frame: Buffer): void => {
        if (this.welcomes[client] === undefined && isWelcome(frame)) this.welcomes[client] = Buffer.from(frame);
        if (isWaiting && isComplete(frame)) {
          isWaiting = false;
          resolve();
        }
        receive(client, frame);
      };
      const line = new Line(this.#way, { hello, hear });
      this.#lines[client] = line;
      let failure = '';
      line.socket.on('error', (error) => {
        failure = `: ${error.message}`;
        reject(error);
      });
      line.socket.on('close', (code, reason) => {
        if (this.#isLeaving) return;
        this.losses.push(`client ${client} was closed with ${code} ${reason}${failure}`);
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
