/**
 * The server port over uWebSockets.js: native code for Node 20–22 on glibc. Elsewhere loading it fails, and `server-choice.ts` takes
 * `node-server.ts`.
 */
import type { TemplatedApp, us_listen_socket, WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import { systemClock } from '../base/clock.ts';
import type { ListenOptions, MakeServer, Server, ServerOptions, UpgradeRequest } from '../kernel/transport/server.ts';
import { whyNotListening } from './listen-probe.ts';
import { OpenSocket, type Wire } from './server-socket.ts';
import { isWellFormed, WIRE } from './server-wire.ts';
import { headOf, refuse, serveExchange } from './uws-http.ts';

type Uws = typeof import('uWebSockets.js');

/** Loads the native module. @throws an Error where there is no binary for this machine. */
export async function loadUws(): Promise<MakeServer> {
  // Read once, when the binary is loaded; its own default of 4 KiB cuts off long tokens.
  process.env.UWS_HTTP_MAX_HEADERS_SIZE = String(WIRE.headerBytesMax);
  const uws = await import('uWebSockets.js');
  return (options) => new UwsServer(uws, options);
}

/** uWS listens with SO_REUSEPORT unless it is told not to. */
const SHARED_PORT = 0;

class UwsServer implements Server {
  readonly #uws: Uws;
  readonly #app: TemplatedApp;
  #listening: us_listen_socket | null = null;
  #isStopping = false;

  constructor(uws: Uws, options: ServerOptions) {
    this.#uws = uws;
    const exchanges = { http: options.http, reportBug: options.reportBug, isStopping: () => this.#isStopping };
    this.#app = uws
      .App()
      .ws('/*', behaviorOf(options))
      .any('/*', (res, req) => serveExchange(res, req, exchanges));
  }

  listen({ host, port, sharing = 'alone' }: ListenOptions): Promise<{ port: number }> {
    const flags = sharing === 'shared' ? SHARED_PORT : this.#uws.LIBUS_LISTEN_EXCLUSIVE_PORT;
    return new Promise((resolve, reject) => {
      this.#app.listen(host, port, flags, (socket) => {
        if (socket === false) {
          whyNotListening(host, port).then(reject, reject);
          return;
        }
        this.#listening = socket;
        resolve({ port: this.#uws.us_socket_local_port(socket) });
      });
    });
  }

  stopListening(): void {
    this.#isStopping = true;
    if (this.#listening !== null) this.#uws.us_listen_socket_close(this.#listening);
    this.#listening = null;
  }

  async close(): Promise<void> {
    this.stopListening();
    this.#app.close();
  }
}

interface Seat {
  /** Until the socket is open. */
  request: UpgradeRequest | null;
  socket: OpenSocket | null;
  wire: UwsWire | null;
}

/** uWS drops a frame above its own limit together with the socket and without a code, so its limit is wider than ours. */
const FRAME_ROOM = 2;

function behaviorOf(options: ServerOptions): WebSocketBehavior<Seat> {
  return {
    maxPayloadLength: options.frameBytesMax * FRAME_ROOM,
    maxBackpressure: options.sendBufferBytesMax,
    closeOnBackpressureLimit: true, // alone, maxBackpressure would drop frames and say nothing
    idleTimeout: 0, // liveness is the application's task
    sendPingsAutomatically: false,
    compression: 0,
    upgrade(res, req, context) {
      const request = headOf(req);
      if (!isWellFormed({ method: 'GET', ...request })) refuse(res, 400);
      else if (!options.upgrades(request.path)) refuse(res, 404);
      else {
        const [key, protocol] = [req.getHeader('sec-websocket-key'), req.getHeader('sec-websocket-protocol')];
        res.upgrade<Seat>({ request, socket: null, wire: null }, key, protocol, '', context);
      }
    },
    open(ws) {
      const seat = ws.getUserData();
      seat.wire = new UwsWire(ws);
      seat.socket = new OpenSocket(seat.wire, options);
      seat.socket.accept(seat.request!);
      seat.request = null;
    },
    message(ws, message, isBinary) {
      const { socket } = ws.getUserData();
      if (message.byteLength > options.frameBytesMax) socket?.close(1009, `A frame may have ${options.frameBytesMax} bytes.`);
      else socket?.received(isBinary ? copyOf(message) : Buffer.from(message).toString());
    },
    drain(ws) {
      const { socket, wire } = ws.getUserData();
      wire?.drained();
      socket?.drained();
    },
    close(ws, code, reason) {
      const { socket, wire } = ws.getUserData();
      wire?.lost();
      const told = Buffer.from(reason).toString();
      socket?.gone(told === TOO_BIG ? 1009 : code, told);
    },
  };
}

/** Out of the memory that uWS takes back; a short one into Node's pool, which spares an allocation of its own for each keystroke. */
function copyOf(message: ArrayBuffer): Uint8Array {
  const { buffer, byteOffset, length } = Buffer.from(new Uint8Array(message));
  return new Uint8Array(buffer, byteOffset, length); // a Buffer's `slice` would not copy
}

/** How uWS says that a frame was above `maxPayloadLength`; the code it gives is 1006. */
const TOO_BIG = 'Received too big message';

/** What uWS says of a send; 0 when a part of it waits. */
const SENT = 1;
const DROPPED = 2;

class UwsWire implements Wire {
  #ws: WebSocket<Seat> | null;
  /** False: the system took all that was sent, and uWS need not be asked, which everybody who hears a message would cost once. */
  #mayWait = false;
  #ending: { readonly code: number; readonly reason: string; readonly cancel: () => void } | null = null;

  constructor(ws: WebSocket<Seat>) {
    this.#ws = ws;
  }

  send(frame: string | Uint8Array): boolean {
    if (this.#ws === null) return false;
    const outcome = this.#ws.send(frame, typeof frame !== 'string');
    if (outcome !== SENT) this.#mayWait = true;
    return outcome !== DROPPED;
  }

  cork(writes: () => void): void {
    this.#ws?.cork(writes);
    this.#mayWait = true; // what a send within says is not about the system
  }

  /** uWS would throw away what still waits, the close frame too; so it is asked to end when all has left. */
  end(code: number, reason: string): void {
    if (this.#waitingBytes() === 0) this.#ws?.end(code, reason);
    else this.#ending = { code, reason, cancel: systemClock.after(WIRE.closeGraceMs, () => this.drop()) };
  }

  drop(): void {
    this.#ws?.close();
  }

  bufferedBytes(): number {
    if (!this.#mayWait) return 0;
    const bytes = this.#waitingBytes();
    this.#mayWait = bytes > 0;
    return bytes;
  }

  #waitingBytes(): number {
    return this.#ws?.getBufferedAmount() ?? 0;
  }

  drained(): void {
    if (this.#ending !== null && this.#waitingBytes() === 0) this.#ws?.end(this.#ending.code, this.#ending.reason);
  }

  /** uWS has closed it; any further call on it would throw. */
  lost(): void {
    this.#ws = null;
    this.#ending?.cancel();
  }
}
