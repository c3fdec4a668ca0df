/**
 * The server port over uWebSockets.js: native code for Node 20–22 on glibc. Elsewhere loading it fails, and `server-choice.ts` takes
 * `node-server.ts`.
 */
import type { HttpResponse, TemplatedApp, us_listen_socket, WebSocket, WebSocketBehavior } from 'uWebSockets.js';
import { systemClock } from '../base/clock.ts';
import type { ListenOptions, MakeServer, Server, ServerOptions, UpgradeRequest } from '../kernel/transport/server.ts';
import { whyNotListening } from './listen-probe.ts';
import { OpenSocket } from './server-socket.ts';
import { FRAME_ROOM, isWellFormed, WIRE } from './server-wire.ts';
import { headOf, refuse, serveExchange } from './uws-http.ts';
import { copyOf } from './uws-memory.ts';
import { UwsWire } from './uws-wire.ts';

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
  #open = 0;

  constructor(uws: Uws, options: ServerOptions) {
    this.#uws = uws;
    const { socketsMax = Number.POSITIVE_INFINITY } = options;
    const exchanges = { http: options.http, reportBug: options.reportBug, isStopping: () => this.#isStopping };
    const counted = (res: HttpResponse, came: number): void => {
      this.#open += came; // -1 of one that goes, but not of one that has become a WebSocket
      if (came > 0 && this.#open > socketsMax) res.close();
    };
    const gone = (): void => {
      this.#open -= 1;
    };
    this.#app = uws
      .App()
      .filter(counted)
      .ws('/*', behaviorOf(options, gone))
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
  wire: UwsWire<Seat> | null;
}

function behaviorOf(options: ServerOptions, gone: () => void): WebSocketBehavior<Seat> {
  const wireOptions = { bytesMax: options.sendBufferBytesMax, drain };
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
      seat.wire = new UwsWire(ws, wireOptions);
      seat.socket = new OpenSocket(seat.wire, options);
      seat.socket.accept(seat.request!);
      seat.request = null;
    },
    message(ws, message, isBinary) {
      const { socket } = ws.getUserData();
      if (message.byteLength > options.frameBytesMax) socket?.tooLong(options.frameBytesMax);
      else socket?.received(isBinary ? copyOf(message) : Buffer.from(message).toString());
    },
    pong(ws, message) {
      ws.getUserData().socket?.ponged(Buffer.from(message).toString());
    },
    drain,
    close(ws, code, reason) {
      gone();
      const { socket, wire } = ws.getUserData();
      wire?.lost();
      const told = Buffer.from(reason).toString();
      socket?.gone(told === TOO_BIG ? 1009 : code, told);
    },
  };
}

/** In a turn of its own: when what is sent within a call of uWS has to wait in its turn, uWS never says that it has left. */
function drain(ws: WebSocket<Seat>): void {
  const { socket, wire } = ws.getUserData();
  systemClock.soon(() => {
    wire?.drained();
    socket?.drained();
  });
}

/** How uWS says that a frame was above `maxPayloadLength`; the code it gives is 1006. */
const TOO_BIG = 'Received too big message';
