/** One client's way to the server, as a `WebSocket` class to hand to an SDK: what passes is recorded, and it can be cut, made deaf or mute. */
import { WebSocket } from 'ws';
import { asMessages, type Message } from './messages.ts';

/** Nobody listens there. */
const NOWHERE = 'ws://127.0.0.1:1/';

export class Network {
  /** Messages that reached the client, in order, over all its sockets. */
  readonly received: Message[] = [];
  /** Messages that the client sent. */
  readonly sent: Message[] = [];
  /** Addresses that were dialled. */
  readonly dialled: URL[] = [];
  /** Codes with which the server closed. */
  readonly closeCodes: number[] = [];
  readonly WebSocket: new (
    address: string | URL,
    protocols?: string | string[],
  ) => WebSocket;
  readonly #open = new Set<WebSocket>();
  #state: 'fine' | 'cut' | 'deaf' | 'mute' = 'fine';

  constructor() {
    const network = this;
    this.WebSocket = class extends WebSocket {
      constructor(address: string | URL, protocols?: string | string[]) {
        super(network.#state === 'cut' ? NOWHERE : address, protocols);
        network.dialled.push(new URL(address));
        network.#open.add(this);
        this.on('close', (code) => {
          network.#open.delete(this);
          network.closeCodes.push(code);
        });
      }

      override send(data: never, ...rest: never[]): void {
        network.sent.push(...asMessages(data));
        if (network.#state === 'mute') return;
        (super.send as (...all: never[]) => void)(data, ...rest);
      }

      override emit(event: string | symbol, ...details: unknown[]): boolean {
        if (event === 'message') {
          if (network.#state === 'deaf') return false;
          network.received.push(...asMessages(details[1] === true ? null : String(details[0])));
        }
        return super.emit(event as never, ...(details as never[]));
      }
    };
  }

  /** Drops every socket without a goodbye and lets no new one through. */
  cut(): void {
    this.#state = 'cut';
    for (const socket of this.#open) socket.terminate();
  }

  /** Loses all that the server says from now on; what the client says still arrives. */
  deafen(): void {
    this.#state = 'deaf';
  }

  /** Loses all that the client says from now on; what the server says still arrives. */
  mute(): void {
    this.#state = 'mute';
  }

  /** Takes nothing from the network until `readAgain`: what the server says meanwhile waits on the way, or with it. */
  stopReading(): void {
    for (const socket of this.#open) socket.pause();
  }

  readAgain(): void {
    for (const socket of this.#open) socket.resume();
  }

  /** Lets new sockets through again. Drops a deaf or mute socket: what it missed is lost. */
  mend(): void {
    if (this.#state === 'deaf' || this.#state === 'mute') for (const socket of this.#open) socket.terminate();
    this.#state = 'fine';
  }
}
