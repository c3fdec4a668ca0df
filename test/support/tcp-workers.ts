/** Workers with a bus over TCP on loopback, and what else may speak to them, for tests. */
import { connect, type Socket } from 'node:net';
import { listenTcpBus, type TcpBusOptions } from '../../src/adapters/tcp-bus.ts';
import { NO_LINK } from '../../src/adapters/tcp-bus-handshake.ts';
import { dial, type Met, type Self } from '../../src/adapters/tcp-bus-meeting.ts';
import { type Clock, systemClock, systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress, type WorkerAddress } from '../../src/base/ids.ts';
import { type Log, silentLog } from '../../src/base/observe.ts';
import { StartRefused } from '../../src/base/start-refused.ts';
import type { Bus } from '../../src/kernel/cluster/bus.ts';
import { freePort } from './e2e/free-port.ts';
import { type ManualClock, manualClock } from './manual-clock.ts';
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts';

export const busSecret = new Uint8Array(32).fill(7);

/** A worker of the cluster of `busSecret`, on a free port of loopback; another process each time, by its name. */
export function aTcpBus(options: Partial<TcpBusOptions> = {}): Promise<Bus> {
  return listenTcpBus({
    host: '127.0.0.1',
    port: 0,
    secrets: [busSecret],
    name: systemRandom.uuid(),
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    ...options,
  });
}

export interface ProxiedBus {
  readonly bus: Bus;
  readonly proxy: TcpProxy;
  /** Another life of the worker, when this one has closed. */
  rejoin(): Promise<Bus>;
}

/** A worker that others reach through a proxy; what it dials itself goes through theirs. */
export async function aProxiedBus(options: Partial<TcpBusOptions> = {}): Promise<ProxiedBus> {
  const proxy = await startTcpProxy();
  for (;;) {
    const port = await freePort();
    const rejoin = (): Promise<Bus> => aTcpBus({ ...options, port, address: asWorkerAddress(proxy.address) });
    const bus = await rejoin().catch((error: unknown) => {
      if (!(error instanceof StartRefused)) throw error;
      return null; // another process was faster
    });
    if (bus === null) continue;
    proxy.aim({ host: '127.0.0.1', port });
    return { bus, proxy, rejoin };
  }
}

/** Time stands still but for `advance`; turns of the event loop, which sockets need, go on. */
export function standingClock(): ManualClock {
  return { ...manualClock(), soon: (task) => systemClock.soon(task) } satisfies Clock & ManualClock;
}

/** Somebody who connects and knows nothing, or what a test gives it to say. */
export function aStranger(address: WorkerAddress): Stranger {
  return new Stranger(connect({ host: '127.0.0.1', port: portOf(address) }));
}

export class Stranger {
  readonly socket: Socket;
  #received = Buffer.alloc(0);

  constructor(socket: Socket) {
    this.socket = socket;
    socket.on('error', () => undefined);
    socket.on('data', (piece: Buffer) => {
      this.#received = Buffer.concat([this.#received, piece]);
    });
  }

  /** All bytes so far. */
  get received(): Buffer {
    return this.#received;
  }

  get isClosed(): boolean {
    return this.socket.closed;
  }
}

export interface RawWorker extends Omit<Met, 'rest'> {
  readonly address: WorkerAddress;
}

/** A peer that knows the secret and shakes hands as it should; what it says then is up to the test. */
export async function aRawWorker(
  to: WorkerAddress,
  { address = asWorkerAddress('127.0.0.1:2'), life = systemRandom.uuid(), endedLinkId = NO_LINK, clock = systemClock } = {},
): Promise<RawWorker & { readonly stranger: Stranger }> {
  const self: Self = { address, life, secrets: [busSecret], clock, random: systemRandom, sockets: new Set() };
  const meeting = await dial({ to, endedLinkId }, self).outcome;
  if ('refused' in meeting) throw new Error(`the handshake was refused: ${meeting.refused}`);
  return { ...meeting, address, stranger: listeningTo(meeting) };
}

/** All that comes after the handshake. */
export function listeningTo({ socket, rest }: Met): Stranger {
  const stranger = new Stranger(socket);
  if (rest.length > 0) socket.unshift(rest);
  socket.resume();
  return stranger;
}

export interface LogLine {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly phrase: string;
  readonly [field: string]: unknown;
}

/** A log to be read by the test. */
export function notedLog(): { log: Log; lines: LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine['level']) =>
    (fields: object, phrase: string): void => {
      lines.push({ ...fields, level, phrase });
    };
  const log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error'), child: () => log } as unknown as Log;
  return { log, lines };
}

export function portOf(address: WorkerAddress): number {
  return Number(address.slice(address.lastIndexOf(':') + 1));
}
