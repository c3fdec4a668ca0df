/** A server under test and the clients that talk to it: HTTP with every byte visible, and WebSockets that can stop reading. */
import http from 'node:http';
import net from 'node:net';
import { WebSocket } from 'ws';
import type {
  HttpRequest,
  HttpResponse,
  MakeServer,
  ServerOptions,
  Socket,
  SocketHandler,
  UpgradeRequest,
} from '../../src/kernel/transport/server.ts';

export interface Running {
  readonly port: number;
  /** What `reportBug` heard. */
  readonly bugs: unknown[];
  stopListening(): void;
  close(): Promise<void>;
}

export interface StartOptions extends ServerOptions {
  readonly host: string;
}

export async function startServer(
  make: MakeServer,
  { host = '127.0.0.1', ...options }: Partial<StartOptions> = {},
): Promise<Running> {
  const bugs: unknown[] = [];
  const server = make({
    http: async () => ({ status: 404 }),
    upgrades: () => true,
    socket: () => deafHandler,
    frameBytesMax: 1_000,
    sendBufferBytesMax: 64 * 1024 * 1024,
    reportBug: (error) => bugs.push(error),
    ...options,
  });
  const { port } = await server.listen({ host, port: 0 });
  return { port, bugs, stopListening: () => server.stopListening(), close: () => server.close() };
}

export const deafHandler: SocketHandler = {
  message: () => undefined,
  tooLong: () => undefined,
  closed: () => undefined,
  ponged: () => undefined,
  drained: () => undefined,
};

/** Answers every request with what `answer` makes of it. */
export function answering(answer: (request: HttpRequest) => HttpResponse | Promise<HttpResponse>): Pick<ServerOptions, 'http'> {
  return { http: async (request) => answer(request) };
}

export interface Reply {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Ask {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: http.OutgoingHttpHeaders;
  readonly body?: string | Uint8Array;
  readonly agent?: http.Agent;
}

export function ask(port: number, { method = 'GET', path = '/', headers = {}, body, agent }: Ask = {}): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const request = http.request(
      { host: '127.0.0.1', port, method, path, headers, ...(agent === undefined ? { agent: false } : { agent }) },
      (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('error', reject);
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(pieces) }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}

/** Sends `bytes` as they are, then ends its side; resolves with all that comes back until the server ends. */
export function rawExchange(port: number, bytes: string | Uint8Array): Promise<string> {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1');
    let heard = '';
    socket.on('data', (data) => {
      heard += data.toString('latin1');
    });
    socket.on('error', (error) => {
      heard += `<${(error as NodeJS.ErrnoException).code}>`;
    });
    socket.on('close', () => resolve(heard));
    socket.end(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  });
}

export interface Closed {
  readonly code: number;
  readonly reason: string;
}

/** A client and what it heard. */
export class Peer {
  readonly ws: WebSocket;
  readonly heard: (string | Uint8Array)[] = [];
  readonly opened: Promise<void>;
  /** Never rejects; a refused upgrade closes with 1006. */
  readonly closed: Promise<Closed>;
  #waiting: { count: number; resolve: () => void } | null = null;

  constructor(port: number, path = '/') {
    this.ws = new WebSocket(`ws://127.0.0.1:${port}${path}`, { maxPayload: 1024 * 1024 * 1024 });
    this.ws.on('message', (data, isBinary) => {
      this.heard.push(isBinary ? new Uint8Array(data as Buffer) : String(data));
      if (this.#waiting !== null && this.heard.length >= this.#waiting.count) this.#waiting.resolve();
    });
    this.opened = new Promise((resolve, reject) => {
      this.ws.once('open', resolve);
      this.ws.once('error', reject);
    });
    this.opened.catch(() => undefined);
    this.closed = new Promise((resolve) => {
      this.ws.on('close', (code, reason) => resolve({ code, reason: reason.toString() }));
    });
    this.ws.on('error', () => undefined);
  }

  /** Resolves when `count` frames have come in all. */
  frames(count: number): Promise<(string | Uint8Array)[]> {
    return new Promise((resolve) => {
      if (this.heard.length >= count) resolve(this.heard);
      else this.#waiting = { count, resolve: () => resolve(this.heard) };
    });
  }
}

/** The application's side of one socket, with promises for what is to come. */
export class Seat implements SocketHandler {
  readonly request: UpgradeRequest;
  readonly socket: Socket;
  readonly heard: (string | Uint8Array)[] = [];
  readonly closings: Closed[] = [];
  readonly whenClosed: Promise<Closed>;
  readonly pongs: string[] = [];
  drains = 0;
  onMessage: (data: string | Uint8Array) => void = () => undefined;
  onDrained: () => void = () => undefined;
  #close: (closed: Closed) => void = () => undefined;

  constructor(request: UpgradeRequest, socket: Socket) {
    this.request = request;
    this.socket = socket;
    this.whenClosed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  message(data: string | Uint8Array): void {
    this.heard.push(data);
    this.onMessage(data);
  }

  tooLong(bytesMax: number): void {
    this.socket.close(4_000, `at most ${bytesMax}`);
  }

  closed(code: number, reason: string): void {
    this.closings.push({ code, reason });
    this.#close({ code, reason });
  }

  ponged(data: string): void {
    this.pongs.push(data);
  }

  drained(): void {
    this.drains += 1;
    this.onDrained();
  }
}

/** An acceptor that seats everybody, and the promise of the next one seated. */
export function seats(): { accept: ServerOptions['socket']; next(): Promise<Seat> } {
  const waiting: ((seat: Seat) => void)[] = [];
  const seated: Seat[] = [];
  return {
    accept: (request, socket) => {
      const seat = new Seat(request, socket);
      const resolve = waiting.shift();
      if (resolve === undefined) seated.push(seat);
      else resolve(seat);
      return seat;
    },
    next: () =>
      new Promise((resolve) => {
        const seat = seated.shift();
        if (seat === undefined) waiting.push(resolve);
        else resolve(seat);
      }),
  };
}

/** Resolves when `read` has given the same figure for `forMs`: whatever moves it has come to rest. */
export async function settled(read: () => number, forMs = 150): Promise<number> {
  for (let before = -1; ; ) {
    const now = read();
    if (now === before) return now;
    before = now;
    await new Promise((resolve) => setTimeout(resolve, forMs));
  }
}
