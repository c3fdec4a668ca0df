/**
 * The bus between workers that share a process: one in embedded mode, several in tests. A message is still never handled in the turn that
 * sends it, as on a wire, and tests can part workers from each other.
 */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { WorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Bus, BusHandler, Message } from '../kernel/cluster/bus.ts';

export interface MemoryNetworkDeps {
  readonly clock: Clock;
  readonly log: Log;
  /** How long the next message travels; absent: until the turn ends. Order per pair of workers is kept whatever it says. */
  readonly travelMs?: () => number;
}

/** What connects the workers of one process. */
export class MemoryNetwork {
  readonly deps: MemoryNetworkDeps;
  readonly #members = new Map<WorkerAddress, MemoryBus>();
  readonly #parted = new Set<string>();
  readonly #arrivalMs = new Map<string, number>();

  constructor(deps: MemoryNetworkDeps) {
    this.deps = deps;
  }

  join(address: WorkerAddress): MemoryBus {
    const member = new MemoryBus(this, address);
    this.#members.set(address, member);
    return member;
  }

  /** The worker is gone, or was replaced by another life under its address. */
  leave(member: MemoryBus): void {
    if (this.#members.get(member.address) === member) this.#members.delete(member.address);
    for (const other of this.#members.values()) this.#lose(member, other);
  }

  /** Nothing passes between the two until `heal`; what is on its way is lost. */
  part(one: WorkerAddress, other: WorkerAddress): void {
    this.#parted.add(pairOf(one, other));
    const [left, right] = [this.#members.get(one), this.#members.get(other)];
    if (left !== undefined && right !== undefined) this.#lose(left, right);
  }

  heal(one: WorkerAddress, other: WorkerAddress): void {
    this.#parted.delete(pairOf(one, other));
  }

  /** The member at this address, if it can be reached from there. */
  reached(from: MemoryBus, to: WorkerAddress): MemoryBus | null {
    const isThere = this.#members.get(from.address) === from && !this.#parted.has(pairOf(from.address, to));
    return isThere ? (this.#members.get(to) ?? null) : null;
  }

  /** Runs `arrive` at the other end, unless the pair is parted by then; after all that was sent before. */
  travel(from: MemoryBus, to: MemoryBus, arrive: () => void): void {
    const { clock, travelMs } = this.deps;
    const link = `${from.address} ${to.address}`;
    const run = (): void => {
      if (this.reached(from, to.address) === to) arrive();
    };
    if (travelMs === undefined) {
      clock.soon(run);
      return;
    }
    const arrivalMs = Math.max(this.#arrivalMs.get(link) ?? 0, clock.monotonicMs() + travelMs());
    this.#arrivalMs.set(link, arrivalMs);
    clock.after(arrivalMs - clock.monotonicMs(), run);
  }

  #lose(one: MemoryBus, other: MemoryBus): void {
    one.down(other.address);
    other.down(one.address);
  }
}

interface OpenAsk {
  readonly to: WorkerAddress;
  readonly fail: (error: AppError) => void;
}

export class MemoryBus implements Bus {
  readonly address: WorkerAddress;
  readonly #network: MemoryNetwork;
  readonly #asks = new Set<OpenAsk>();
  #handler: BusHandler | null = null;
  #listener: (address: WorkerAddress) => void = () => undefined;

  /** Made by `MemoryNetwork.join`. */
  constructor(network: MemoryNetwork, address: WorkerAddress) {
    this.#network = network;
    this.address = address;
  }

  serve(handler: BusHandler): void {
    this.#handler = handler;
  }

  onDown(listener: (address: WorkerAddress) => void): void {
    this.#listener = listener;
  }

  tell(to: WorkerAddress, message: Message): void {
    const peer = this.#peer(to);
    if (peer === null) {
      this.down(to);
      return;
    }
    this.#network.travel(this, peer, () => {
      peer
        .answer(message, this.address)
        .catch((error: unknown) => this.#network.deps.log.debug({ err: error, kind: message.kind }, 'message failed'));
    });
  }

  /** It takes memory once, however many it is for. */
  waitingBytes(_: WorkerAddress): number {
    return 0;
  }

  async ask(to: WorkerAddress, message: Message, { deadlineMs }: { deadlineMs: number }): Promise<unknown> {
    const peer = this.#peer(to);
    if (peer === null) throw new AppError('WORKER_UNREACHABLE');
    return new Promise((resolve, reject) => {
      const end = (): void => {
        this.#asks.delete(open);
        cancel();
      };
      const open: OpenAsk = {
        to,
        fail(error) {
          end();
          reject(error);
        },
      };
      const cancel = this.#network.deps.clock.after(deadlineMs, () => open.fail(new AppError('OUTCOME_UNKNOWN')));
      this.#asks.add(open);
      const back = (settle: () => void): void => {
        this.#network.travel(peer, this, () => {
          if (!this.#asks.has(open)) return;
          end();
          settle();
        });
      };
      this.#network.travel(this, peer, () => {
        peer.answer(message, this.address).then(
          (value) => back(() => resolve(value)),
          (error: unknown) => back(() => reject(error)),
        );
      });
    });
  }

  /** Hands a message to the handler, as its peers do. */
  async answer(message: Message, from: WorkerAddress): Promise<unknown> {
    if (this.#handler === null) throw new AppError('WORKER_UNREACHABLE');
    return this.#handler(message, from);
  }

  /** What was on its way to or from that worker is lost. */
  down(address: WorkerAddress): void {
    for (const open of [...this.#asks]) if (open.to === address) open.fail(new AppError('OUTCOME_UNKNOWN'));
    this.#network.deps.clock.soon(() => this.#listener(address));
  }

  async close(): Promise<void> {
    this.#network.leave(this);
    for (const open of [...this.#asks]) open.fail(new AppError('OUTCOME_UNKNOWN'));
  }

  #peer(to: WorkerAddress): MemoryBus | null {
    return this.#network.reached(this, to);
  }
}

function pairOf(one: WorkerAddress, other: WorkerAddress): string {
  return one < other ? `${one} ${other}` : `${other} ${one}`;
}
