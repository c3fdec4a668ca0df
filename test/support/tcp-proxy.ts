/**
 * A network that misbehaves on demand: a TCP proxy between clients and one target, for tests of links, databases, anything that speaks TCP.
 *
 *     const proxy = await startTcpProxy({ target: { host: '127.0.0.1', port: 5432 } });   // dial proxy.port instead of 5432
 *     proxy.delay({ ms: 50 });            // what is read from now on arrives 50 ms later, in order, as on a longer wire
 *     proxy.throttle({ bytesPerSecond: 10_000 });
 *     proxy.blackHole('toTarget');        // half-open: nothing passes that way, connections stay, nobody is told
 *     proxy.interject({ bytes, behind: 2 }); // to each client, behind the second piece that it sent: what the target never said
 *     proxy.heal();                       // all of the above ends; what was held passes on, as TCP would send it again
 *     proxy.cut();                        // resets all connections
 *     proxy.cutAfter({ bytes: 10_000 });  // resets the next connection over which so much has passed, both ways together
 *     proxy.refuse();                     // resets whoever connects, until heal
 *     await proxy.close();
 *
 * It holds at most some 256 KiB in each direction of a connection and then stops reading, so a reader that is slow is felt by who writes.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';

/** Where a server listens: on a port, or on a file. */
export type Place = { readonly host: string; readonly port: number } | { readonly path: string };

export type Direction = 'toTarget' | 'toClient';

const HELD_BYTES_MAX = 256 * 1024;
/** A throttled connection gets its bytes in pieces worth this long. */
const THROTTLED_PIECE_MS = 10;

/** Pieces are counted as they are read: those of a client that waits for each answer are its messages. */
export interface Interjection {
  readonly bytes: Buffer;
  readonly behind: number;
}

/** What all connections go through at the moment. */
interface Weather {
  delayMs: number;
  bytesPerMs: number;
  interjection: Interjection | null;
  readonly closed: Set<Direction>;
}

/** Starts on a free port; without a target it resets whoever connects, until `aim` gives it one. */
export async function startTcpProxy({ target = null }: { target?: Place | null } = {}): Promise<TcpProxy> {
  const server = createServer({ allowHalfOpen: true, noDelay: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  return new TcpProxy(server, target);
}

export class TcpProxy {
  readonly host = '127.0.0.1';
  readonly port: number;
  readonly #server: Server;
  readonly #wires = new Set<Wire>();
  readonly #weather: Weather = { delayMs: 0, bytesPerMs: Number.POSITIVE_INFINITY, interjection: null, closed: new Set() };
  #target: Place | null;
  #isRefusing = false;
  #cutAfterBytes = Number.POSITIVE_INFINITY;
  #accepted = 0;

  /** Made by `startTcpProxy`. */
  constructor(server: Server, target: Place | null) {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('a TCP server has a numeric port');
    this.port = address.port;
    this.#server = server;
    this.#target = target;
    server.on('connection', (client) => this.#accept(client));
  }

  /** host:port. */
  get address(): string {
    return `${this.host}:${this.port}`;
  }

  /** Connections that are open now. */
  get open(): number {
    return this.#wires.size;
  }

  /** Connections that were ever made. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Where connections made from now on lead. */
  aim(target: Place): void {
    this.#target = target;
  }

  delay({ ms }: { ms: number }): void {
    this.#weather.delayMs = ms;
  }

  /** For each direction of each connection. */
  throttle({ bytesPerSecond }: { bytesPerSecond: number }): void {
    this.#weather.bytesPerMs = bytesPerSecond / 1_000;
  }

  /** Of one direction, or of both. New connections are made, and then silent. */
  blackHole(...directions: Direction[]): void {
    for (const direction of directions.length > 0 ? directions : (['toTarget', 'toClient'] as const)) {
      this.#weather.closed.add(direction);
    }
    this.#pump();
  }

  interject(interjection: Interjection): void {
    this.#weather.interjection = interjection;
  }

  refuse(): void {
    this.#isRefusing = true;
  }

  cut(): void {
    for (const wire of [...this.#wires]) wire.cut();
  }

  cutAfter({ bytes }: { bytes: number }): void {
    this.#cutAfterBytes = bytes;
  }

  heal(): void {
    this.#weather.delayMs = 0;
    this.#weather.bytesPerMs = Number.POSITIVE_INFINITY;
    this.#weather.interjection = null;
    this.#weather.closed.clear();
    this.#isRefusing = false;
    this.#cutAfterBytes = Number.POSITIVE_INFINITY;
    this.#pump();
  }

  async close(): Promise<void> {
    const isClosed = new Promise((resolve) => this.#server.close(resolve));
    this.cut();
    await isClosed;
  }

  #accept(client: Socket): void {
    client.on('error', () => undefined);
    if (this.#isRefusing || this.#target === null) {
      reset(client);
      return;
    }
    this.#accepted += 1;
    const wire = new Wire(client, connect({ ...this.#target, allowHalfOpen: true, noDelay: true }), this.#weather, {
      passed: () => {
        if (wire.bytesPassed < this.#cutAfterBytes) return;
        this.#cutAfterBytes = Number.POSITIVE_INFINITY;
        wire.cut();
      },
      left: () => Math.max(0, this.#cutAfterBytes - wire.bytesPassed),
      gone: () => this.#wires.delete(wire),
    });
    this.#wires.add(wire);
  }

  #pump(): void {
    for (const wire of this.#wires) wire.pump();
  }
}

interface WireWatch {
  /** More bytes have passed. */
  passed(): void;
  /** How many may. */
  left(): number;
  gone(): void;
}

/** One connection: two sockets, a lane each way. */
class Wire {
  bytesPassed = 0;
  readonly #sockets: readonly Socket[];
  readonly #lanes: readonly Lane[];

  constructor(client: Socket, target: Socket, weather: Weather, watch: WireWatch) {
    this.#sockets = [client, target];
    const account = {
      left: () => watch.left(),
      passed: (bytes: number) => {
        this.bytesPassed += bytes;
        watch.passed();
      },
    };
    this.#lanes = [
      new Lane({ from: client, to: target, direction: 'toTarget', weather, account }),
      new Lane({ from: target, to: client, direction: 'toClient', weather, account }),
    ];
    let piecesOfClient = 0;
    client.on('data', () => {
      piecesOfClient += 1;
      if (piecesOfClient === weather.interjection?.behind) client.write(weather.interjection.bytes);
    });
    for (const socket of this.#sockets) {
      socket.on('error', () => this.cut()); // a reset on one side is a reset on the other
      socket.once('close', () => {
        if (this.#sockets.every((each) => each.destroyed)) watch.gone();
      });
    }
  }

  cut(): void {
    for (const lane of this.#lanes) lane.stop();
    for (const socket of this.#sockets) {
      if (socket.connecting) socket.once('connect', () => reset(socket));
      else reset(socket);
    }
  }

  pump(): void {
    for (const lane of this.#lanes) lane.pump();
  }
}

/** On a file there are no resets, and one that is closed already must not be an error. */
function reset(socket: Socket): void {
  if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

interface LaneOptions {
  readonly from: Socket;
  readonly to: Socket;
  readonly direction: Direction;
  readonly weather: Weather;
  readonly account: { left(): number; passed(bytes: number): void };
}

/** One direction of one connection. */
class Lane {
  readonly #options: LaneOptions;
  /** What was read and has not passed yet; null is the end. */
  readonly #held: { readonly piece: Buffer | null; readonly dueMs: number }[] = [];
  #heldBytes = 0;
  #freeAtMs = 0;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = false;

  constructor(options: LaneOptions) {
    this.#options = options;
    const { from, to } = options;
    from.on('data', (piece: Buffer) => this.#hold(piece));
    from.on('end', () => this.#hold(null));
    to.on('drain', () => this.pump());
    this.pump();
  }

  stop(): void {
    this.#isStopped = true;
    clearTimeout(this.#timer);
  }

  /** Passes on what is due, and asks to be called again. */
  pump(): void {
    const { from, to, direction, weather } = this.#options;
    clearTimeout(this.#timer);
    const isBlocked = weather.closed.has(direction);
    while (!this.#isStopped && !isBlocked && !to.writableNeedDrain && this.#held.length > 0) {
      const waitMs = Math.max(this.#held[0]!.dueMs, this.#freeAtMs) - performance.now();
      if (waitMs > 0) {
        this.#timer = setTimeout(() => this.pump(), Math.ceil(waitMs));
        break;
      }
      this.#pass();
    }
    if (isBlocked || this.#heldBytes > HELD_BYTES_MAX) from.pause();
    else from.resume();
  }

  #hold(piece: Buffer | null): void {
    this.#held.push({ piece, dueMs: performance.now() + this.#options.weather.delayMs });
    this.#heldBytes += piece?.length ?? 0;
    this.pump();
  }

  /** As much of the oldest piece as may pass at once. */
  #pass(): void {
    const { to, weather, account } = this.#options;
    const { piece, dueMs } = this.#held.shift()!;
    if (piece === null) {
      to.end();
      return;
    }
    const sizeMax = Math.min(Math.max(1, Math.floor(weather.bytesPerMs * THROTTLED_PIECE_MS)), account.left());
    const part = piece.subarray(0, sizeMax);
    if (part.length < piece.length) this.#held.unshift({ piece: piece.subarray(part.length), dueMs });
    this.#heldBytes -= part.length;
    this.#freeAtMs = performance.now() + part.length / weather.bytesPerMs;
    to.write(part);
    account.passed(part.length);
  }
}
