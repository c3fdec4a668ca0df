/**
 * The transport port: HTTP and WebSocket as Atrium sees them. `adapters/uws-server.ts` and `adapters/node-server.ts`
 * implement it; one contract suite (`test/contract/server.contract.ts`) holds both to the same behaviour.
 */
import type { Pieces } from '../../base/pieces.ts';
import type { Frame } from './frame.ts';

export interface HttpRequest {
  /** Upper case; one that HTTP knows. */
  readonly method: string;
  /** As sent, percent-encoding untouched, without the query. Begins with a slash, printable ASCII only. */
  readonly path: string;
  /** As sent, without the question mark; '' when absent. */
  readonly query: string;
  /** Names in lower case; a header sent twice has its values joined by a comma. No prototype. */
  readonly headers: Readonly<Record<string, string>>;
  /** The whole body. @throws AppError PAYLOAD_TOO_LARGE as soon as more than `bytesMax` arrive or are declared. */
  body(bytesMax: number): Promise<Uint8Array>;
  /**
   * The body in pieces as it arrives, with back-pressure. Use either this or `body`, once. Rejects with `aborted.reason`. A piece may be kept
   * until the next one is asked for, and no longer: its memory is used again.
   */
  stream(): AsyncIterable<Uint8Array>;
  /** Aborted when the client goes away before the answer is complete. */
  readonly aborted: AbortSignal;
}

export interface HttpResponse {
  readonly status: number;
  /** Names in lower case. The adapter itself writes `content-length`, `transfer-encoding` and `connection`. */
  readonly headers?: Readonly<Record<string, string>>;
  /** What an iterable brings is sent as it comes, at the pace of the client; when it goes away the iterator is returned. A HEAD request gets the headers only. */
  readonly body?: string | Uint8Array | Pieces | AsyncIterable<Uint8Array> | undefined;
  /** Of an iterable, where it is known: exactly so many bytes must come. Also for HEAD, where no body needs to be given. */
  readonly size?: number | undefined;
  /** Called once when the answer has left, or will not: nothing of it is in memory for its sake any more. Must not throw. */
  readonly over?: (() => void) | undefined;
}

/** Never rejects: errors are mapped to responses by the caller; one that escapes is a bare 500. */
export type HttpHandler = (request: HttpRequest) => Promise<HttpResponse>;

/** Shown to the application once the socket is open: a refusal is a close code, because a refused upgrade makes SDK clients loop (protocol 3.2). */
export type UpgradeRequest = Pick<HttpRequest, 'path' | 'query' | 'headers'>;

export interface Socket {
  /** Queues a frame. False when the socket is closed, or is now because its buffer was full. */
  send(frame: Frame): boolean;
  /** Runs `writes` so that its sends leave in one system call where the adapter can. */
  cork(writes: () => void): void;
  /** Asks the peer's end of the connection for `data` back, at most 125 bytes: it has then got all that was sent before (RFC 6455, 5.5.2). Left out where too much waits. */
  ping(data: string): void;
  /**
   * Closes after what was sent has left, or hard when the peer does not take it in time; `reason` is cut to 123 bytes. Safe to call
   * twice. From here on nothing is sent or heard; `closed` is called in a later turn, with this code.
   */
  close(code: number, reason: string): void;
  /** Bytes accepted by `send` that the peer has not taken yet. */
  bufferedBytes(): number;
}

/**
 * What the application does with one open socket. An exception closes that socket alone: an AppError with its own close code,
 * anything else with 1011 and a report.
 */
export interface SocketHandler {
  /** `data` is a copy and may be kept. */
  message(data: string | Uint8Array): void;
  /** A message of more than `bytesMax` came and was let go of. Whoever sent it would send it again: close with a code at which it does not come back. */
  tooLong(bytesMax: number): void;
  /** The answer to a `ping`; a peer that got several may answer the last one alone. */
  ponged(data: string): void;
  /** Called once, and nothing after it. 1006 when the peer was lost or dropped, 1005 when it gave no code. */
  closed(code: number, reason: string): void;
  /** `bufferedBytes` has shrunk after it had grown beyond what the system takes at once. */
  drained(): void;
}

/** Called when a socket is open. Synchronous: credentials are checked after the upgrade (protocol 3.2). */
type SocketAcceptor = (request: UpgradeRequest, socket: Socket) => SocketHandler;

export interface ServerOptions {
  readonly http: HttpHandler;
  /** Whether an upgrade on this path is wanted at all; refused upgrades get a 404. */
  readonly upgrades: (path: string) => boolean;
  readonly socket: SocketAcceptor;
  /** Longest frame taken from a client. Of a longer one its handler hears; one longer than twice this closes with 1009, possibly without the code. */
  readonly frameBytesMax: number;
  /** Backstop on a socket's outgoing bytes: a frame sent while more than this wait drops the socket (1006). Above every budget of the application. */
  readonly sendBufferBytesMax: number;
  /** Hears of exceptions that escaped a handler, after the client has got its 500 or close code. They are bugs; log them. */
  readonly reportBug: (error: unknown) => void;
  /** Hears how each socket ended: the code that its handler hears. For counting. */
  readonly socketClosed?: (code: number) => void;
  /** Sockets of the system open at once, of requests and WebSockets together; one more is closed as it comes. Without it there is no limit but the system's. */
  readonly socketsMax?: number;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /**
   * `alone`, the default: refused when anybody else listens there. `shared`: other processes of ours listen there too, and the system deals
   * out the connections; the port is then a fixed one.
   */
  readonly sharing?: 'alone' | 'shared';
}

export interface Server {
  /** Resolves with the port bound (useful with 0). @throws StartRefused that names the port when it cannot be had, or not be shared. */
  listen(options: ListenOptions): Promise<{ port: number }>;
  /** Stops accepting; open requests may finish, and their connections end with them. Open sockets are left to the caller. */
  stopListening(): void;
  /** Ends all that is left. */
  close(): Promise<void>;
}

export type MakeServer = (options: ServerOptions) => Server;
