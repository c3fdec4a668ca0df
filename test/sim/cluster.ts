/**
 * What lies between the workers: the bus as a process hears it, and a directory that forgets, lies and goes away.
 *
 * Both only pass on to the memory adapters, late; what reaches a paused process waits there, and what reaches a dead one is gone.
 */
import type { MemoryBus } from '../../src/adapters/memory-bus.ts';
import { MemoryDirectory } from '../../src/adapters/memory-directory.ts';
import { packMessage, unpackMessage } from '../../src/base/binary.ts';
import type { WorkerAddress } from '../../src/base/ids.ts';
import type { Bus, BusHandler, Message } from '../../src/kernel/cluster/bus.ts';
import type { Directory, Location, WorkerEntry } from '../../src/kernel/cluster/directory.ts';
import type { Process, World } from './world.ts';

/** A bus that runs its process only when that runs. Messages are copied, as by a wire. */
export class ProcessBus implements Bus {
  readonly #bus: MemoryBus;
  readonly #process: Process;

  constructor(bus: MemoryBus, process: Process) {
    this.#bus = bus;
    this.#process = process;
  }

  get address(): WorkerAddress {
    return this.#bus.address;
  }

  serve(handler: BusHandler): void {
    this.#bus.serve(async (message, from) => copyOf(await this.#process.enter(() => handler(message, from))));
  }

  tell(to: WorkerAddress, { kind, payload }: Message): void {
    this.#bus.tell(to, { kind, payload: copyOf(payload) });
  }

  waitingBytes(to: WorkerAddress): number {
    return this.#bus.waitingBytes(to);
  }

  async ask(to: WorkerAddress, { kind, payload }: Message, options: { deadlineMs: number }): Promise<unknown> {
    try {
      const answer = await this.#bus.ask(to, { kind, payload: copyOf(payload) }, options);
      return await this.#process.enter(() => answer);
    } catch (error) {
      return await this.#process.enter(() => {
        throw error;
      });
    }
  }

  onDown(listener: (address: WorkerAddress) => void): void {
    this.#bus.onDown((address) => void this.#process.enter(() => listener(address)));
  }

  close(): Promise<void> {
    return this.#bus.close();
  }
}

function copyOf(value: unknown): unknown {
  return unpackMessage(packMessage(value ?? null).slice());
}

/** What stands in for Redis: one for all workers. */
export class FakeRedis {
  readonly memory: MemoryDirectory;
  readonly world: World;
  isUp = true;
  /** Answers with a location of its own instead of the truth. */
  lie: ((key: string) => Location | null) | null = null;

  /** Numbers that somebody trusts it to count; see the mutants. */
  readonly #epochs = new Map<number, number>();

  constructor(world: World, clock: ConstructorParameters<typeof MemoryDirectory>[0]['clock']) {
    this.world = world;
    this.memory = new MemoryDirectory({ clock });
  }

  nextEpoch(stream: number): number {
    const next = (this.#epochs.get(stream) ?? 0) + 1;
    this.#epochs.set(stream, next);
    return next;
  }

  /** Starts empty, or a replica takes its place that had not heard everything. */
  forget(): void {
    this.memory.clear();
    for (const [stream, epoch] of this.#epochs) this.#epochs.set(stream, Math.max(0, epoch - this.world.dice.below(3)));
  }
}

const AWAY_MS_MAX = 150;

/** The directory as one worker's process sees it. */
export class ProcessDirectory implements Directory {
  readonly #redis: FakeRedis;
  readonly #process: Process;

  constructor(redis: FakeRedis, process: Process) {
    this.#redis = redis;
    this.#process = process;
  }

  heartbeat(self: WorkerEntry): Promise<WorkerEntry[]> {
    return this.#command(() => this.#redis.memory.heartbeat(self));
  }

  leave(incarnation: WorkerEntry['incarnation']): Promise<void> {
    return this.#command(() => this.#redis.memory.leave(incarnation));
  }

  locate(key: string): Promise<Location | null> {
    const { lie } = this.#redis;
    return this.#command(() => (lie === null ? this.#redis.memory.locate(key) : Promise.resolve(lie(key))));
  }

  publish(location: Location): Promise<void> {
    return this.#command(() => this.#redis.memory.publish(location));
  }

  retract(location: Location): Promise<void> {
    return this.#command(() => this.#redis.memory.retract(location));
  }

  async close(): Promise<void> {
    // the process ends
  }

  #command<Result>(run: () => Promise<Result>): Promise<Result> {
    const { world, isUp } = this.#redis;
    return new Promise((resolve, reject) => {
      if (!isUp) this.#process.input(world.dice.fraction() * AWAY_MS_MAX, () => reject(new Error('redis is away')));
      else this.#process.input(0.2 + world.dice.fraction() * 0.5, () => void run().then(resolve, reject));
    });
  }
}
