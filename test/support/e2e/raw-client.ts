/** A client that speaks the SDK's wire protocol by hand: for exact messages, and for messages that no SDK would send. */
import { onTestFinished } from 'vitest';
import { WebSocket } from 'ws';
import { asMessages, CODE, type Message } from './messages.ts';
import type { TestServer } from './server.ts';
import { accessTokenFor, type Person } from './tokens.ts';
import { until } from './until.ts';

export interface Closing {
  readonly code: number;
  readonly reason: string;
}

/** How to enter: as a person, with a token at hand, or with the public key. */
export type Door = { readonly roomId: string } & (Person | { readonly token: string } | { readonly publicKey: string });

export class RawClient {
  /** Text frames as they came. */
  readonly texts: string[] = [];
  /** Messages not taken yet. */
  readonly inbox: Message[] = [];
  readonly closed: Promise<Closing>;
  readonly #socket: WebSocket;
  #opId = 0;
  /** The number the server gave; set once ROOM_STATE is here. */
  actor = Number.NaN;

  constructor(address: URL) {
    this.#socket = new WebSocket(address);
    this.#socket.on('message', (data, isBinary) => {
      if (isBinary) return;
      this.texts.push(String(data));
      this.inbox.push(...asMessages(String(data)));
    });
    this.closed = new Promise((resolve, reject) => {
      this.#socket.on('error', reject);
      this.#socket.on('close', (code, reason) => resolve({ code, reason: String(reason) }));
    });
    onTestFinished(() => this.#socket.terminate());
  }

  /** Sends messages in one frame, as an array. */
  send(...messages: readonly Message[]): void {
    this.sendFrame(JSON.stringify(messages));
  }

  sendFrame(frame: string | Uint8Array): void {
    this.#socket.send(frame);
  }

  /** Sends storage ops in one message, each with an id of this client where it has none. */
  sendOps(...ops: readonly Message[]): Message[] {
    const numbered = ops.map((op) => ({ opId: `${this.actor}:${this.#opId++}`, ...op }));
    this.send({ type: CODE.storageOps, ops: numbered });
    return numbered;
  }

  /** Ids of nodes that no other client can make. */
  nodeId(number: number): string {
    return `${this.actor}:${number}`;
  }

  /** Removes and returns the first waiting message of this code, waiting for it if need be. */
  async take(code: number): Promise<Message> {
    return until(`message ${code} came`, () => {
      const index = this.inbox.findIndex(({ type }) => type === code);
      return index < 0 ? null : this.inbox.splice(index, 1)[0]!;
    });
  }

  /** The storage ops of the next `count` ops, over however many messages they come. */
  async takeOps(count: number): Promise<Message[]> {
    const ops: Message[] = [];
    while (ops.length < count) ops.push(...((await this.take(CODE.storageOps)).ops as Message[]));
    return ops;
  }

  /** Asks for Storage and returns its compact nodes; from here on the client hears of changes. */
  async fetchStorage(): Promise<unknown[][]> {
    this.send({ type: CODE.fetchStorage });
    await until('the snapshot has come', () => this.inbox.some(({ type }) => type === CODE.storageEnd));
    const end = this.inbox.findIndex(({ type }) => type === CODE.storageEnd);
    const chunks = this.inbox.splice(0, end + 1).filter(({ type }) => type === CODE.storageChunk);
    return chunks.flatMap(({ nodes }) => nodes as unknown[][]);
  }

  /** Waits until the worker that holds the socket has taken everything that was sent before: frames of one connection stay in order. */
  async roundTrip(): Promise<void> {
    const before = this.texts.length;
    this.sendFrame('ping');
    await until('pong came', () => this.texts.indexOf('pong', before) >= 0);
  }

  leave(): void {
    this.#socket.close();
  }

  /** Takes nothing from the network until `readAgain`. */
  stopReading(): void {
    this.#socket.pause();
  }

  readAgain(): void {
    this.#socket.resume();
  }
}

/** Dials without waiting for an answer: for credentials that will be refused. */
export async function dial(server: TestServer, door: Door): Promise<RawClient> {
  const address = new URL('/v8', server.socketUrl);
  address.searchParams.set('roomId', door.roomId);
  if ('publicKey' in door) address.searchParams.set('pubkey', door.publicKey);
  else address.searchParams.set('tok', 'token' in door ? door.token : await accessTokenFor(server, door));
  address.searchParams.set('version', '3.24.2');
  return new RawClient(address);
}

/** Dials and waits for ROOM_STATE. */
export async function enterRaw(server: TestServer, door: Door): Promise<RawClient> {
  const client = await dial(server, door);
  const refused = client.closed.then(({ code, reason }) => {
    throw new Error(`the server closed with ${code} ${reason}`);
  });
  const state = await Promise.race([client.take(CODE.roomState), refused]);
  client.actor = state.actor as number;
  return client;
}
