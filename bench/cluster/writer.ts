/** A client that writes one Storage op after the other over one socket, and notes when each was acknowledged: its longest silence is what it felt of a fault. */
import { WebSocket } from 'ws';

export interface WriterOptions {
  /** Where to dial, ws://host:port: the first, and after a close the next, as behind a load balancer. */
  readonly origins: readonly string[];
  readonly roomId: string;
  readonly publicKey: string;
  /** Between an acknowledgement and the next write. */
  readonly pauseMs: number;
}

const STATE = 104;
const FETCH = 200;
const OPS = 201;
const SNAPSHOT_END = 211;
const SET = 3;
const RECONNECT_MS = 250;
const PING_EVERY_MS = 20_000;

interface Wire {
  readonly type: number;
  readonly actor?: number;
  readonly ops?: readonly { readonly opId?: string }[];
}

export class Writer {
  readonly roomId: string;
  readonly #options: WriterOptions;
  #socket: WebSocket | null = null;
  #actor = 0;
  #clock = 0;
  /** The op that waits for its acknowledgement. */
  #open: { readonly opId: string; readonly sentMs: number } | null = null;
  #isWriting = false;
  #isOver = false;
  #lastAckMs = 0;
  #longestMs = 0;
  acked = 0;
  /** The last messages, for the error. */
  readonly #heard: string[] = [];
  /** Sockets that ended though nobody here ended them. */
  closes = 0;
  readonly latenciesMs: number[] = [];

  constructor(options: WriterOptions) {
    this.#options = options;
    this.roomId = options.roomId;
  }

  /** Enters the room and begins to write; resolves with the first acknowledgement. */
  async start(): Promise<void> {
    this.#dial();
    const startedMs = performance.now();
    while (this.acked === 0) {
      if (performance.now() - startedMs > 20_000)
        throw new Error(`${this.roomId} takes no write: ${this.closes} closes, ${this.#heard.slice(-6).join(' ')}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }

  /** The longest time without an acknowledgement since the last call, one that lasts included. */
  takeLongestMs(): number {
    const now = performance.now();
    const longest = Math.max(this.#longestMs, now - this.#lastAckMs);
    this.#longestMs = 0;
    this.#lastAckMs = now;
    return longest;
  }

  stop(): void {
    this.#isOver = true;
    this.#socket?.terminate();
  }

  #dial(): void {
    const { origins, roomId, publicKey } = this.#options;
    const origin = origins[this.closes % origins.length]!;
    const url = new URL('/v8', origin);
    url.searchParams.set('roomId', roomId);
    url.searchParams.set('pubkey', publicKey);
    const socket = new WebSocket(url);
    this.#socket = socket;
    const pinging = setInterval(() => socket.readyState === WebSocket.OPEN && socket.send('ping'), PING_EVERY_MS);
    socket.on('message', (data) => this.#hear(String(data)));
    socket.on('error', () => undefined); // the close follows
    socket.on('close', (code, reason) => {
      this.#heard.push(`closed ${code} ${reason}`);
      clearInterval(pinging);
      if (this.#isOver) return;
      this.closes += 1;
      this.#isWriting = false;
      setTimeout(() => this.#dial(), RECONNECT_MS);
    });
  }

  #hear(text: string): void {
    if (text === 'pong') return;
    this.#heard.push(text.slice(0, 200));
    if (this.#heard.length > 20) this.#heard.shift();
    const value = JSON.parse(text) as Wire | Wire[];
    for (const message of Array.isArray(value) ? value : [value]) {
      if (message.type === STATE) this.#entered(message.actor ?? 0);
      if (message.type === SNAPSHOT_END) this.#synced();
      if (message.type === OPS)
        for (const { opId } of message.ops ?? []) if (opId !== undefined && opId === this.#open?.opId) this.#acknowledged();
    }
  }

  /** Also in the middle of a connection: the room has moved to another owner. */
  #entered(actor: number): void {
    this.#actor = actor;
    this.#clock = 0;
    if (!this.#isWriting) this.#send([{ type: FETCH }]);
  }

  /** What was not acknowledged is sent again, under its own id. */
  #synced(): void {
    this.#isWriting = true;
    if (this.#open === null) this.#write();
    else this.#sendOp(this.#open.opId);
  }

  #write(): void {
    if (this.#isOver || !this.#isWriting || this.#open !== null) return;
    this.#clock += 1;
    this.#open = { opId: `${this.#actor}:${this.#clock}`, sentMs: performance.now() };
    this.#sendOp(this.#open.opId);
  }

  #sendOp(opId: string): void {
    this.#send([{ type: OPS, ops: [{ type: SET, id: 'root', opId, data: { last: opId } }] }]);
  }

  #send(messages: readonly unknown[]): void {
    if (this.#socket?.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(messages));
  }

  #acknowledged(): void {
    const now = performance.now();
    this.latenciesMs.push(now - this.#open!.sentMs);
    if (this.#lastAckMs > 0) this.#longestMs = Math.max(this.#longestMs, now - this.#lastAckMs);
    this.#lastAckMs = now;
    this.acked += 1;
    this.#open = null;
    setTimeout(() => this.#write(), this.#options.pauseMs);
  }
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
