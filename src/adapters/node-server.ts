/**
 * The server port over `node:http` and `ws`: runs wherever Node runs. Slower at fan-out than uWebSockets.js, the same to everybody else.
 */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo, Socket as NetSocket } from 'node:net';
import { type RawData, type WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../base/clock.ts';
import type { Pieces } from '../base/pieces.ts';
import { StartRefused } from '../base/start-refused.ts';
import { type Frame, isUtf8 } from '../kernel/transport/frame.ts';
import type { ListenOptions, MakeServer, Server, ServerOptions, UpgradeRequest } from '../kernel/transport/server.ts';
import { listenRefused } from './listen-probe.ts';
import { headOf, serveExchange } from './node-http.ts';
import { OpenSocket, type Wire } from './server-socket.ts';
import { FRAME_ROOM, isWellFormed, WIRE } from './server-wire.ts';

/** The longest a request may take to arrive whole; uploads through REST are the longest. Stalls end it earlier (`WIRE.stallMs`). */
const REQUEST_MS_MAX = 300_000;

/** How often Node looks for connections that broke a time limit. */
const CHECK_EVERY_MS = 1_000;

/** From 24.9 on Node asks for which offers of a client it is to leave the connection to us; before, it does so for all. */
const OFFERS = { shouldUpgradeCallback: isForWebSocket };

const CANNOT_SHARE =
  'Several workers can share a port only with uWebSockets.js, which does not load on this machine (it is for Node 20 to 22 on glibc); set WORKERS to 1.';

export const makeNodeServer: MakeServer = (options) => new NodeServer(options);

class NodeServer implements Server {
  readonly #options: ServerOptions;
  readonly #http = createServer({
    maxHeaderSize: WIRE.headerBytesMax,
    headersTimeout: WIRE.stallMs,
    requestTimeout: REQUEST_MS_MAX,
    keepAliveTimeout: WIRE.keepAliveMs,
    connectionsCheckingInterval: CHECK_EVERY_MS,
    ...OFFERS,
  });
  readonly #sockets: WebSocketServer;
  #stopped: Promise<void> | null = null;

  constructor(options: ServerOptions) {
    this.#options = options;
    this.#sockets = new WebSocketServer({
      noServer: true,
      maxPayload: options.frameBytesMax * FRAME_ROOM,
      perMessageDeflate: false,
    });
    const exchanges = { http: options.http, reportBug: options.reportBug, isStopping: () => this.#stopped !== null };
    if (Number.isFinite(options.socketsMax)) this.#http.maxConnections = options.socketsMax!;
    this.#http.on('request', (req, res) => serveExchange(req, res, exchanges));
    this.#http.on('upgrade', (req, socket, head) => this.#upgrade(req, socket as NetSocket, head));
  }

  /** Node 20 has no way to share a port between processes that only the system connects. */
  listen({ host, port, sharing = 'alone' }: ListenOptions): Promise<{ port: number }> {
    if (sharing === 'shared') return Promise.reject(new StartRefused(CANNOT_SHARE));
    return new Promise((resolve, reject) => {
      const refused = (error: Error): void => reject(listenRefused(host, port, error));
      this.#http.once('error', refused);
      this.#http.listen({ host, port, exclusive: true }, () => {
        this.#http.off('error', refused);
        resolve({ port: (this.#http.address() as AddressInfo).port });
      });
    });
  }

  stopListening(): void {
    this.#stopped ??= new Promise((resolve) => this.#http.close(() => resolve()));
  }

  async close(): Promise<void> {
    this.stopListening();
    for (const ws of this.#sockets.clients) ws.terminate();
    this.#http.closeAllConnections();
    await this.#stopped;
  }

  #upgrade(req: IncomingMessage, socket: NetSocket, head: Buffer): void {
    const request = headOf(req);
    if (!isForWebSocket(request)) {
      this.#stayWithHttp(req, socket, head);
      return;
    }
    socket.on('error', () => socket.destroy());
    if (!isWellFormed({ method: 'GET', ...request })) refuseUpgrade(socket, '400 Bad Request');
    else if (!this.#options.upgrades(request.path)) refuseUpgrade(socket, '404 Not Found');
    else this.#sockets.handleUpgrade(req, socket, head, (ws) => this.#accept(ws, socket, request));
  }

  /**
   * Who offers another protocol takes an answer in this one (RFC 9110, 7.8), as the HTTP client of Java does with each request. Node has left the
   * connection to us, so it gets the request once more, without the offer.
   */
  #stayWithHttp(req: IncomingMessage, socket: NetSocket, head: Buffer): void {
    socket.removeAllListeners('timeout'); // Node's own, which it adds anew; it has taken away the others
    socket.unshift(Buffer.concat([Buffer.from(withoutOffer(req), 'latin1'), head]));
    this.#http.emit('connection', socket);
  }

  #accept(ws: WebSocket, socket: NetSocket, request: UpgradeRequest): void {
    const { frameBytesMax, sendBufferBytesMax } = this.#options;
    const open = new OpenSocket(new NodeWire(ws, socket, sendBufferBytesMax), this.#options);
    ws.on('message', (data, isBinary) => {
      if ((data as Buffer).byteLength > frameBytesMax) open.tooLong(frameBytesMax);
      else open.received(isBinary ? copyOf(data) : String(data));
    });
    ws.on('pong', (data) => open.ponged(data.toString()));
    ws.on('error', (error) => open.gone(isTooLong(error) ? 1009 : 1006, error.message)); // ws itself closes after it
    ws.on('close', (code, reason) => open.gone(code, reason.toString()));
    socket.on('drain', () => open.drained());
    open.accept(request);
  }
}

class NodeWire implements Wire {
  readonly #ws: WebSocket;
  readonly #socket: NetSocket;
  readonly #bytesMax: number;

  constructor(ws: WebSocket, socket: NetSocket, bytesMax: number) {
    this.#ws = ws;
    this.#socket = socket;
    this.#bytesMax = bytesMax;
  }

  send(frame: Frame): boolean {
    if (this.#ws.bufferedAmount > this.#bytesMax) return false;
    if (isUtf8(frame)) this.#sendFragments(frame.utf8);
    else this.#ws.send(frame);
    return true;
  }

  /** As they lie in memory, all of one message (RFC 6455, 5.4). */
  #sendFragments(pieces: Pieces): void {
    for (const [at, piece] of pieces.entries()) this.#ws.send(piece, { binary: false, fin: at === pieces.length - 1 });
  }

  cork(writes: () => void): void {
    this.#socket.cork();
    try {
      writes();
    } finally {
      this.#socket.uncork();
    }
  }

  ping(data: string): void {
    this.#ws.ping(data);
  }

  end(code: number, reason: string): void {
    this.#ws.close(code, reason);
    this.#ws.once(
      'close',
      systemClock.after(WIRE.closeGraceMs, () => this.drop()),
    );
  }

  drop(): void {
    this.#ws.terminate();
  }

  bufferedBytes(): number {
    return this.#ws.bufferedAmount;
  }
}

function isForWebSocket({ headers }: Pick<UpgradeRequest, 'headers'> | IncomingMessage): boolean {
  return headers.upgrade?.toLowerCase() === 'websocket';
}

/** The head of a request as it came, but for what offers an upgrade. */
function withoutOffer({ method, url, httpVersion, rawHeaders }: IncomingMessage): string {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at]!;
    if (name.toLowerCase() !== 'upgrade') lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  return `${lines.join('\r\n')}\r\n\r\n`;
}

function refuseUpgrade(socket: NetSocket, status: string): void {
  socket.write(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
  socket.destroySoon();
}

/** `ws` hands out a part of what one read brought; keeping a few bytes would keep all of it. */
function copyOf(data: RawData): Uint8Array {
  return new Uint8Array(data as Buffer);
}

function isTooLong(error: Error): boolean {
  return (error as NodeJS.ErrnoException).code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH';
}
