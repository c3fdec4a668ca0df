/**
 * A WebSocket client that costs its process little (RFC 6455): a load that is busy with itself measures itself. It dials with a request made before,
 * all sockets read into the same memory, and nothing is compressed. With the client of `ws` in its place the load gave out before the servers did, in
 * `connect-storm`, `join` and `saturation`.
 */
import { createHash, randomBytes } from 'node:crypto';
import { EventEmitter } from 'node:events';
import { connect, isIP, type OnReadOpts, type Socket } from 'node:net';
import { connect as connectOverTls } from 'node:tls';
import { FrameReader } from './frame-reader.ts';

/** What a server makes of a key to show that it speaks WebSocket (section 1.3). */
const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';
/** One for all: it keeps caches from answering, of which there are none here. */
const KEY = randomBytes(16).toString('base64');
const ACCEPT = createHash('sha1')
  .update(KEY + GUID)
  .digest('base64');

const FINAL = 0x80;
const TEXT = 0x1;
const BYTES = 0x2;
const CLOSE = 0x8;
const PING = 0x9;
const PONG = 0xa;
const MASKED = 0x80;
/** Of zeros: masking hides what a page in a browser says from proxies on its way. A server that looks at the mask saves an exclusive or. */
const MASK_BYTES = 4;
const HANDSHAKE_BYTES_MAX = 16 * 1024;
const ENDED_WITHOUT_A_WORD = 1006;

/** Where all sockets of this process read into, one after the other: each looks at what has come before the next one reads. */
const READ = Buffer.allocUnsafeSlow(256 * 1024);

/** What went wrong here, and is not the server's doing. */
class OwnFault extends Error {}

/** How a door is dialled. */
export interface Dial {
  readonly host: string;
  readonly port: number;
  readonly isSecure: boolean;
  readonly request: Buffer;
}

/** Made once for all who dial `ws://…` or `wss://…`. */
export function dialOf(url: string): Dial {
  const { protocol, hostname, host, port, pathname, search } = new URL(url);
  const isSecure = protocol === 'wss:';
  const lines = [
    `GET ${pathname}${search} HTTP/1.1`,
    `Host: ${host}`,
    'Upgrade: websocket',
    'Connection: Upgrade',
    `Sec-WebSocket-Key: ${KEY}`,
    'Sec-WebSocket-Version: 13',
  ];
  return {
    host: hostname.replace(/^\[|\]$/g, ''), // an address of IPv6
    port: Number(port) || (isSecure ? 443 : 80),
    isSecure,
    request: Buffer.from(`${lines.join('\r\n')}\r\n\r\n`),
  };
}

interface Events {
  open: [];
  pong: [];
  /** What went wrong; the close follows. */
  error: [Error];
  close: [code: number, reason: string];
}

export class LightSocket extends EventEmitter<Events> {
  readonly #socket: Socket;
  readonly #frames: FrameReader;
  #state: 'dialling' | 'open' | 'over' = 'dialling';
  /** What has come of the server's answer to the request. */
  #answer: Buffer = Buffer.alloc(0);
  #closed = { code: ENDED_WITHOUT_A_WORD, reason: '' };

  /** Dials. `hear` gets every message; it lies in memory that is used again, so who keeps one copies it. */
  constructor({ host, port, isSecure, request }: Dial, hear: (message: Buffer) => void) {
    super();
    this.#frames = new FrameReader({
      message: (message) => this.#tell(() => hear(message)),
      control: (opcode, payload) => this.#tell(() => this.#control(opcode, payload)),
    });
    const onread: OnReadOpts = {
      buffer: READ,
      callback: (count) => {
        this.#read(READ.subarray(0, count));
        return true;
      },
    };
    const options = { host, port, noDelay: true, onread };
    const name = isIP(host) === 0 ? { servername: host } : {}; // RFC 6066, section 3: an address is no name
    this.#socket = isSecure ? connectOverTls({ ...options, ...name }) : connect(options);
    this.#socket.write(request);
    this.#socket.on('error', (error) => this.emit('error', error));
    this.#socket.on('close', () => {
      const wasDialling = this.#state === 'dialling';
      this.#state = 'over';
      if (wasDialling && !this.#socket.errored)
        this.emit('error', new Error('the server ended the connection instead of an answer'));
      this.emit('close', this.#closed.code, this.#closed.reason);
    });
  }

  get isOpen(): boolean {
    return this.#state === 'open';
  }

  sendText(payload: Buffer): void {
    this.#send(TEXT, payload);
  }

  sendBytes(payload: Buffer): void {
    this.#send(BYTES, payload);
  }

  /** Is answered in its turn by `pong`. */
  ping(): void {
    this.#send(PING, Buffer.alloc(0));
  }

  /** From now on nothing is read. */
  pause(): void {
    this.#socket.pause();
  }

  /** Leaves without a word. */
  terminate(): void {
    this.#state = 'over';
    this.#socket.destroy();
  }

  #read(bytes: Buffer): void {
    if (this.#state === 'over') return;
    try {
      if (this.#state === 'open') this.#frames.read(bytes);
      else this.#handshake(bytes);
    } catch (error) {
      if (error instanceof OwnFault) throw error.cause;
      this.#state = 'over';
      this.#socket.destroy(error as Error);
    }
  }

  /** Nothing is told that came behind the end. */
  #tell(what: () => void): void {
    if (this.#state !== 'open') return;
    try {
      what();
    } catch (cause) {
      throw new OwnFault('whoever listens failed', { cause });
    }
  }

  /** @throws an Error when the server refuses. */
  #handshake(bytes: Buffer): void {
    this.#answer = Buffer.concat([this.#answer, bytes]);
    const end = this.#answer.indexOf('\r\n\r\n');
    if (end < 0 && this.#answer.length < HANDSHAKE_BYTES_MAX) return;
    const [status, ...headers] = this.#answer.toString('latin1', 0, Math.max(end, 0)).split('\r\n');
    if (!status!.startsWith('HTTP/1.1 101')) throw new Error(`the server answered ${status}`);
    if (!headers.some((header) => /^sec-websocket-accept: *(\S+)/i.exec(header)?.[1] === ACCEPT))
      throw new Error('the server did not take up the key');
    const rest = this.#answer.subarray(end + 4);
    this.#answer = Buffer.alloc(0);
    this.#state = 'open';
    this.#tell(() => void this.emit('open'));
    if (rest.length > 0) this.#frames.read(rest); // what is there already of what the server says first
  }

  #control(opcode: number, payload: Buffer): void {
    if (opcode === PING) this.#send(PONG, payload);
    else if (opcode === PONG) this.emit('pong');
    else if (opcode === CLOSE) {
      if (payload.length >= 2) this.#closed = { code: payload.readUInt16BE(0), reason: payload.toString('utf8', 2) };
      this.#send(CLOSE, payload.subarray(0, 2));
      this.#state = 'over';
      this.#socket.end();
    }
  }

  #send(opcode: number, payload: Buffer): void {
    if (this.#state === 'dialling') throw new Error('the socket is not open yet');
    if (this.#state === 'over') return;
    const { length } = payload;
    const lengthBytes = length < 126 ? 0 : length < 65_536 ? 2 : 8;
    const from = 2 + lengthBytes + MASK_BYTES;
    const frame = Buffer.allocUnsafe(from + length);
    frame[0] = FINAL | opcode;
    frame[1] = MASKED | (lengthBytes === 0 ? length : lengthBytes === 2 ? 126 : 127);
    if (lengthBytes === 2) frame.writeUInt16BE(length, 2);
    else if (lengthBytes === 8) frame.writeBigUInt64BE(BigInt(length), 2);
    frame.fill(0, from - MASK_BYTES, from);
    payload.copy(frame, from);
    this.#socket.write(frame);
  }
}
