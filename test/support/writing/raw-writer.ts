/** A writer that speaks the wire protocol of the SDK and sees each ack. It comes back to a server that was killed, moved or fell silent. */
import { WebSocket } from 'ws';
import { asMessages, CODE, type Message, OP } from '../e2e/messages.ts';
import { accessTokenFor } from '../e2e/tokens.ts';
import { until } from '../e2e/until.ts';
import { idsInStorage, storageIn } from './place.ts';
import type { Writer, WriterDeps } from './writers.ts';

const SETTLE_TIMEOUT_MS = 30_000;
const RECONNECT_MS = 100;
const PING_EVERY_MS = 2_000;
/** A server that said nothing for so long, not even pong, is taken for dead; SDK clients wait longer. */
const SILENCE_MS_MAX = 5_000;
const UNANSWERED_MAX = 200;
const PRESENCE_EVERY = 10;

/** What a raw writer does when it comes back: send again what was not acknowledged, as SDKs do, or never think of it again. */
export type Memory = 'faithful' | 'forgetful';

/** Pushes onto the list, and sets keys of the map. Also watches: what the server forwards to it must stay (reliability 3.2, C8). */
export class RawWriter implements Writer {
  readonly #deps: WriterDeps;
  readonly #memory: Memory;
  readonly #address: URL;
  /** By op id: sent, and not answered yet. */
  readonly #pending = new Map<string, { readonly id: string; readonly op: Message }>();
  readonly #heartbeat: NodeJS.Timeout;
  #socket!: WebSocket;
  #actor = Number.NaN;
  /** Of the list and the map; null until the first snapshot. */
  #places: { readonly list: string; readonly map: string } | null = null;
  /** What the snapshot on its way holds so far, and when it was asked for. */
  #snapshot: { readonly nodes: unknown[][]; readonly askedMs: number } | null = null;
  #count = 0;
  #written = 0;
  #isOver = false;
  #dialledMs = 0;
  #heardMs = 0;
  /** What the server said that it may not say. */
  readonly faults: string[] = [];

  private constructor(deps: WriterDeps, memory: Memory, token: string) {
    this.#deps = deps;
    this.#memory = memory;
    this.#address = new URL('/v8', deps.server.socketUrl);
    this.#address.search = new URLSearchParams({ roomId: deps.roomId, tok: token, version: '3.24.2' }).toString();
    this.#connect();
    this.#heartbeat = setInterval(() => this.#beat(), PING_EVERY_MS);
  }

  static async enter(deps: WriterDeps, memory: Memory): Promise<RawWriter> {
    const writer = new RawWriter(deps, memory, await accessTokenFor(deps.server, { userId: 'raw' }));
    await until('the raw writer knows the list', () => writer.#isReady);
    return writer;
  }

  write(): void {
    if (!this.#isReady || this.#pending.size >= UNANSWERED_MAX) return;
    const opId = `${this.#actor}:${this.#count++}`;
    const isPush = this.#written++ % 3 !== 2;
    const id = this.#deps.nextId(`${this.#memory}${isPush ? 'Push' : 'Set'}`);
    const { list, map } = this.#places!;
    const place = isPush
      ? { parentId: list, parentKey: '!', data: id, intent: 'push' }
      : { parentId: map, parentKey: id, data: 1 };
    const op = { type: OP.createRegister, opId, id: opId, ...place };
    this.#deps.ledger.wrote(id);
    this.#pending.set(opId, { id, op });
    this.#send({ type: CODE.storageOps, ops: [op] });
    if (this.#written % PRESENCE_EVERY === 0) this.#send({ type: CODE.presence, data: { written: this.#written } });
  }

  async settle(): Promise<void> {
    await until('the raw writer is answered', () => this.#isReady && this.#pending.size === 0, { timeoutMs: SETTLE_TIMEOUT_MS });
  }

  leave(): void {
    this.#isOver = true;
    clearInterval(this.#heartbeat);
    this.#socket.terminate();
  }

  /** Whether what it writes now follows all that it wrote before. */
  get #isReady(): boolean {
    return this.#places !== null && this.#snapshot === null && this.#socket.readyState === WebSocket.OPEN;
  }

  #connect(): void {
    this.#snapshot = { nodes: [], askedMs: 0 }; // nothing is asked for yet, nor may anything be sent
    this.#dialledMs = performance.now();
    this.#heardMs = this.#dialledMs;
    const socket = new WebSocket(this.#address);
    this.#socket = socket;
    this.#actor = Number.NaN;
    socket.on('error', () => undefined); // the close that follows says enough
    socket.on('message', (data) => {
      this.#heardMs = performance.now();
      for (const message of asMessages(String(data))) this.#hear(message);
    });
    socket.on('close', (code, reason) => {
      this.#deps.ledger.lostSocket?.(code, String(reason));
      this.#forget();
      if (!this.#isOver) setTimeout(() => this.#isOver || this.#connect(), RECONNECT_MS);
    });
  }

  #beat(): void {
    if (performance.now() - this.#heardMs > SILENCE_MS_MAX) this.#socket.terminate();
    else if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send('ping');
  }

  #forget(): void {
    if (this.#memory === 'forgetful') this.#pending.clear();
  }

  #hear(message: Message): void {
    if (message.type === CODE.roomState) {
      this.#forget();
      // When its room has moved, the server asks in its name, before this can: then it was asked since this dialled, and no more is known.
      const askedMs = Number.isNaN(this.#actor) ? performance.now() : this.#dialledMs;
      this.#actor = message.actor;
      this.#count = 0;
      this.#snapshot = { nodes: [], askedMs };
      this.#send({ type: CODE.presence, targetActor: -1, data: { written: this.#written } });
      this.#send({ type: CODE.fetchStorage });
    } else if (message.type === CODE.userJoined)
      this.#send({ type: CODE.presence, targetActor: message.actor, data: { written: this.#written } });
    else if (message.type === CODE.storageChunk) this.#snapshot?.nodes.push(...message.nodes);
    else if (message.type === CODE.storageEnd) this.#snapshotIsHere();
    else if (message.type === CODE.storageOps) for (const op of message.ops as Message[]) this.#hearOp(op);
    else if (message.type === CODE.rejected) this.faults.push(`rejected: ${JSON.stringify(message)}`);
  }

  #snapshotIsHere(): void {
    if (this.#snapshot === null) return;
    const { nodes, askedMs } = this.#snapshot;
    const placeOf = (name: string) => nodes.find(([, , parentId, key]) => parentId === 'root' && key === name)?.[0] as string;
    this.#places = { list: placeOf('list'), map: placeOf('map') };
    this.#deps.ledger.saw?.(idsInStorage(storageIn(nodes)), askedMs);
    const ops = [...this.#pending.values()].map(({ op }) => op);
    if (ops.length > 0) this.#send({ type: CODE.storageOps, ops });
    this.#snapshot = null;
  }

  #hearOp(op: Message): void {
    if (op.opId === undefined) {
      this.#watch(op);
      return;
    }
    const pending = this.#pending.get(op.opId);
    if (pending === undefined) return;
    if (op.id === 'ACK') this.faults.push(`${pending.id} was answered as having no effect`);
    this.#pending.delete(op.opId);
    this.#deps.ledger.acked(pending.id);
  }

  #watch(op: Message): void {
    if (op.type !== OP.createRegister || this.#places === null) return;
    if (op.parentId === this.#places.list) this.#deps.ledger.shown(op.data);
    else if (op.parentId === this.#places.map) this.#deps.ledger.shown(op.parentKey);
  }

  #send(message: Message): void {
    this.#socket.send(JSON.stringify([message]));
  }
}
