/** Writers into Storage: one that speaks the wire protocol and sees each ack, and the SDK, which sees that nothing is left to be acknowledged. */
import { createClient, type LiveList, type LiveMap, type LiveObject, type LiveText, type Room } from '@liveblocks/client';
import { WebSocket } from 'ws';
import { asMessages, CODE, type Message, OP } from '../support/e2e/messages.ts';
import { accessTokenFor } from '../support/e2e/tokens.ts';
import { until } from '../support/e2e/until.ts';
import { mark } from './place.ts';
import type { Writer, WriterDeps } from './writers.ts';

const SETTLE_TIMEOUT_MS = 30_000;
const RECONNECT_MS = 100;

/** What a raw writer does when it comes back: send again what was not acknowledged, as SDKs do, or never think of it again. */
export type Memory = 'faithful' | 'forgetful';

/** Pushes onto the list. Also watches: what the server forwards to it must stay (reliability 3.2, C8). */
export class RawWriter implements Writer {
  readonly #deps: WriterDeps;
  readonly #memory: Memory;
  readonly #address: URL;
  /** By op id: sent, and not answered yet. */
  readonly #pending = new Map<string, { readonly id: string; readonly op: Message }>();
  #socket!: WebSocket;
  #actor = Number.NaN;
  #listId: string | null = null;
  #count = 0;
  #isOver = false;
  /** What the server said that it may not say. */
  readonly faults: string[] = [];

  private constructor(deps: WriterDeps, memory: Memory, token: string) {
    this.#deps = deps;
    this.#memory = memory;
    this.#address = new URL('/v8', deps.server.socketUrl);
    this.#address.search = new URLSearchParams({ roomId: deps.roomId, tok: token, version: '3.24.2' }).toString();
    this.#connect();
  }

  static async enter(deps: WriterDeps, memory: Memory): Promise<RawWriter> {
    const writer = new RawWriter(deps, memory, await accessTokenFor(deps.server, { userId: 'raw' }));
    await until('the raw writer knows the list', () => writer.#isReady);
    return writer;
  }

  write(): void {
    if (!this.#isReady) return;
    const id = this.#deps.nextId(this.#memory);
    const number = this.#count++;
    const opId = `${this.#actor}:${number}`;
    const op = { type: OP.createRegister, opId, id: opId, parentId: this.#listId, parentKey: '!', data: id, intent: 'push' };
    this.#deps.ledger.wrote(id);
    this.#pending.set(opId, { id, op });
    this.#send({ type: CODE.storageOps, ops: [op] });
  }

  async settle(): Promise<void> {
    await until('the raw writer is answered', () => this.#isReady && this.#pending.size === 0, { timeoutMs: SETTLE_TIMEOUT_MS });
  }

  leave(): void {
    this.#isOver = true;
    this.#socket.terminate();
  }

  get #isReady(): boolean {
    return this.#listId !== null && this.#socket.readyState === WebSocket.OPEN;
  }

  #connect(): void {
    this.#listId = null;
    this.#socket = new WebSocket(this.#address);
    this.#socket.on('error', () => undefined); // the close that follows says enough
    this.#socket.on('message', (data) => {
      for (const message of asMessages(String(data))) this.#hear(message);
    });
    this.#socket.on('close', () => {
      if (this.#memory === 'forgetful') this.#pending.clear();
      if (!this.#isOver) setTimeout(() => this.#isOver || this.#connect(), RECONNECT_MS);
    });
  }

  #hear(message: Message): void {
    if (message.type === CODE.roomState) {
      this.#actor = message.actor;
      this.#count = 0;
      this.#send({ type: CODE.fetchStorage });
    } else if (message.type === CODE.storageChunk) {
      const list = (message.nodes as unknown[][]).find(([, , parentId, key]) => parentId === 'root' && key === 'list');
      if (list !== undefined) this.#listId = list[0] as string;
    } else if (message.type === CODE.storageEnd) this.#resend();
    else if (message.type === CODE.storageOps) for (const op of message.ops as Message[]) this.#hearOp(op);
    else if (message.type === CODE.rejected) this.faults.push(`rejected: ${JSON.stringify(message)}`);
  }

  #resend(): void {
    const ops = [...this.#pending.values()].map(({ op }) => op);
    if (ops.length > 0) this.#send({ type: CODE.storageOps, ops });
  }

  #hearOp(op: Message): void {
    if (op.opId === undefined) {
      if (op.type === OP.createRegister && op.parentId === this.#listId) this.#deps.ledger.shown(op.data);
      return;
    }
    const pending = this.#pending.get(op.opId);
    if (pending === undefined) return;
    if (op.id === 'ACK') this.faults.push(`${pending.id} was answered as having no effect`);
    this.#pending.delete(op.opId);
    this.#deps.ledger.acked(pending.id);
  }

  #send(message: Message): void {
    this.#socket.send(JSON.stringify([message]));
  }
}

/** Pushes onto the list, sets keys of the map, types into the LiveText; whenever the SDK says "synchronized", all before it is acknowledged. */
export class SdkWriter implements Writer {
  readonly #deps: WriterDeps;
  readonly #room: Room<any, any, any, any>;
  readonly #leave: () => void;
  readonly #unacked = new Set<string>();
  #root!: LiveObject<any>;
  #count = 0;
  readonly #watch: NodeJS.Timeout;

  private constructor(deps: WriterDeps, token: string) {
    this.#deps = deps;
    const client = createClient({
      baseUrl: deps.server.url,
      throttle: 16,
      polyfills: { WebSocket: WebSocket as any, fetch },
      authEndpoint: async () => ({ token }),
    });
    const { room, leave } = client.enterRoom(deps.roomId, { initialPresence: {}, initialStorage: {} } as any);
    this.#room = room;
    this.#leave = leave;
    this.#watch = setInterval(() => this.#acknowledge(), 5);
  }

  static async enter(deps: WriterDeps, userId: string): Promise<SdkWriter> {
    const writer = new SdkWriter(deps, await accessTokenFor(deps.server, { userId }));
    writer.#root = (await writer.#room.getStorage()).root as LiveObject<any>;
    return writer;
  }

  write(): void {
    const kind = (['sdkPush', 'sdkSet', 'sdkText'] as const)[this.#count++ % 3]!;
    const id = this.#deps.nextId(kind);
    this.#deps.ledger.wrote(id);
    this.#unacked.add(id);
    if (kind === 'sdkPush') (this.#root.get('list') as LiveList<string>).push(id);
    else if (kind === 'sdkSet') (this.#root.get('map') as LiveMap<string, number>).set(id, 1);
    else (this.#root.get('text') as LiveText).insert(0, mark(id));
  }

  async settle(): Promise<void> {
    await until('the SDK is synchronized', () => this.#isSaved, { timeoutMs: SETTLE_TIMEOUT_MS });
    this.#acknowledge();
  }

  leave(): void {
    clearInterval(this.#watch);
    this.#leave();
  }

  get #isSaved(): boolean {
    return this.#room.getStatus() === 'connected' && this.#room.getStorageStatus() === 'synchronized';
  }

  #acknowledge(): void {
    if (!this.#isSaved) return;
    for (const id of this.#unacked) this.#deps.ledger.acked(id);
    this.#unacked.clear();
  }
}
