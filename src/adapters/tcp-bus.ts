/**
 * The bus of a cluster: one TCP connection per pair of workers, made when something is to be sent, by whoever dials first. It knows addresses and
 * a secret that all workers share; who is alive it finds out for itself.
 *
 * `tcp-bus-meeting` lets a connection in, `tcp-bus-link` carries frames over it, `tcp-bus-peer` keeps one of them per worker.
 */
import { createServer, type Server, type Socket } from 'node:net';
import { hostAndPort } from '../base/address.ts';
import type { Clock, Random } from '../base/clock.ts';
import { asWorkerAddress, type WorkerAddress } from '../base/ids.ts';
import type { Keyring } from '../base/keyring.ts';
import type { Log } from '../base/observe.ts';
import { StartRefused } from '../base/start-refused.ts';
import type { Bus, BusHandler, Message } from '../kernel/cluster/bus.ts';
import { Inbox } from './tcp-bus-inbox.ts';
import { LIMITS, type TcpBusLimits } from './tcp-bus-limits.ts';
import { Loop } from './tcp-bus-loop.ts';
import { greet, keep, type Refusal, type Self } from './tcp-bus-meeting.ts';
import { Peer } from './tcp-bus-peer.ts';

export interface TcpBusOptions {
  readonly host: string;
  /** 0 takes a free one. */
  readonly port: number;
  /** How others dial this worker when that is not where it listens: behind a port map, or a proxy. Absent: host:port. */
  readonly address?: WorkerAddress;
  /** 32 bytes each, from a KDF: whoever has one of them is a worker. All workers have the first, or take it. */
  readonly secrets: Keyring;
  /** This process's own random name, at most 255 bytes. */
  readonly name: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits?: Partial<TcpBusLimits>;
}

/** Listens for other workers. @throws StartRefused when the address cannot be had. */
export async function listenTcpBus(options: TcpBusOptions): Promise<Bus> {
  const { host, port, secrets, name, clock, random } = options;
  const server = createServer({ noDelay: true });
  await listen(server, { host, port });
  const bound = server.address();
  const boundPort = bound === null || typeof bound === 'string' ? port : bound.port;
  const address = options.address ?? asWorkerAddress(hostAndPort(host, boundPort));
  return new TcpBus(server, { address, life: name, secrets, clock, random, sockets: new Set() }, options);
}

function listen(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException): void => {
      reject(
        new StartRefused(`the bus cannot listen on ${host}, port ${port} (${error.code}); set BUS_HOST or BUS_PORT.`, {
          cause: error,
        }),
      );
    };
    server.once('error', refuse);
    server.listen({ host, port, exclusive: true }, () => {
      server.off('error', refuse);
      resolve();
    });
  });
}

/** Peers remembered; beyond it those are forgotten to which there is no link. */
const PEERS_KEPT_MAX = 1_000;
/** Strangers may knock often; each reason is logged this often at most. */
const REFUSALS_LOGGED_EVERY_MS = 10_000;

class TcpBus implements Bus {
  readonly address: WorkerAddress;
  readonly #server: Server;
  readonly #self: Self;
  readonly #log: Log;
  readonly #limits: TcpBusLimits;
  readonly #inbox: Inbox;
  readonly #loop: Loop;
  readonly #peers = new Map<WorkerAddress, Peer>();
  /** Connections that have not proved yet to be workers, oldest first. */
  readonly #strangers = new Set<Socket>();
  readonly #refusalLoggedMs = new Map<Refusal, number>();
  #listener: (address: WorkerAddress) => void = () => undefined;
  #closing: Promise<void> | null = null;

  constructor(server: Server, self: Self, { log, limits }: TcpBusOptions) {
    this.address = self.address;
    this.#server = server;
    this.#self = self;
    this.#log = log;
    this.#limits = { ...LIMITS, ...limits };
    const { frameBytesMax } = this.#limits;
    const onDown = (): void => this.#down(self.address);
    this.#inbox = new Inbox({ log, random: self.random, frameBytesMax });
    this.#loop = new Loop({ address: self.address, inbox: this.#inbox, frameBytesMax, clock: self.clock, log, onDown });
    server.on('connection', (socket) => void this.#accept(socket));
    server.on('error', (error) => log.error({ err: error }, 'bus cannot accept connections'));
  }

  serve(handler: BusHandler): void {
    this.#inbox.serve(handler);
  }

  onDown(listener: (address: WorkerAddress) => void): void {
    this.#listener = listener;
  }

  tell(to: WorkerAddress, message: Message): void {
    this.#wayTo(to).tell(message);
  }

  waitingBytes(to: WorkerAddress): number {
    return this.#peers.get(to)?.waitingBytes ?? 0;
  }

  ask(to: WorkerAddress, message: Message, options: { deadlineMs: number }): Promise<unknown> {
    return this.#wayTo(to).ask(message, options);
  }

  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  /** A listener that fails must not leave a link half made. */
  #down(address: WorkerAddress): void {
    try {
      this.#listener(address);
    } catch (error) {
      this.#log.error({ peer: address, err: error }, 'listener of lost links failed');
    }
  }

  #wayTo(address: WorkerAddress): Loop | Peer {
    return address === this.address ? this.#loop : this.#peer(address);
  }

  #peer(address: WorkerAddress): Peer {
    const known = this.#peers.get(address);
    if (known !== undefined) return known;
    if (this.#peers.size >= PEERS_KEPT_MAX) {
      for (const [other, peer] of this.#peers) if (peer.isIdle) this.#peers.delete(other);
    }
    const peer = new Peer(address, {
      self: this.#self,
      log: this.#log,
      limits: this.#limits,
      inbox: this.#inbox,
      onDown: (down) => this.#down(down),
    });
    if (this.#closing !== null) peer.close();
    this.#peers.set(address, peer);
    return peer;
  }

  async #accept(socket: Socket): Promise<void> {
    keep(socket, this.#self.sockets);
    this.#strangers.add(socket);
    // The oldest goes: to keep workers out, a stranger has to knock faster than a handshake takes, not just to hold all places.
    const [oldest] = this.#strangers;
    if (this.#strangers.size > this.#limits.strangersMax) oldest?.destroy();
    const meeting = await greet(socket, this.#self);
    this.#strangers.delete(socket);
    if (!('refused' in meeting)) return this.#peer(meeting.peer).meet(meeting, { dialedBy: 'peer' });
    this.#logRefusal(meeting.refused, socket.remoteAddress);
    socket.destroy();
  }

  #logRefusal(reason: Refusal, from: string | undefined): void {
    const nowMs = this.#self.clock.monotonicMs();
    if (nowMs - (this.#refusalLoggedMs.get(reason) ?? Number.NEGATIVE_INFINITY) < REFUSALS_LOGGED_EVERY_MS) return;
    this.#refusalLoggedMs.set(reason, nowMs);
    this.#log[reason === 'ended early' ? 'debug' : 'warn']({ reason, from }, 'connection to the bus refused');
  }

  async #end(): Promise<void> {
    const isDeaf = new Promise((resolve) => this.#server.close(resolve));
    for (const socket of this.#strangers) socket.destroy();
    for (const peer of this.#peers.values()) peer.close();
    this.#loop.close();
    const gone = [...this.#self.sockets].map((socket) => new Promise((resolve) => socket.once('close', resolve)));
    await Promise.all([isDeaf, ...gone]);
  }
}
