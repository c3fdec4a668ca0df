/**
 * The way between one worker and the database: packets take their time, wait while the way is cut in one direction or both, and arrive when
 * it is healed, or never. Connections outlive a short cut, as TCP does.
 */
import type { Process, World } from '../world.ts';
import type { FakeServer } from './server.ts';

export type Direction = 'requests' | 'replies';

interface Held {
  readonly direction: Direction;
  readonly packet: Packet;
}

export interface Packet {
  readonly arrive: () => void;
  /** Whether whoever sent it, or waits for it, still has its connection. */
  readonly isWanted: () => boolean;
}

/** A request whose sender has given up may still be on its way, or not. */
const LATE_REQUEST_ARRIVES = 0.5;

export class PostgresLink {
  readonly server: FakeServer;
  readonly #world: World;
  readonly #travelMs: () => number;
  readonly #cut = new Set<Direction>();
  #resets = new Set<() => void>();
  /** Of processes that ended while the way was cut: the server has not heard of it. */
  #abandoned: (() => void)[] = [];
  #held: Held[] = [];

  constructor(server: FakeServer, travelMs: () => number) {
    this.server = server;
    this.#world = server.world;
    this.#travelMs = travelMs;
  }

  get isCut(): boolean {
    return this.#cut.size > 0;
  }

  /** The listener is called when the connections of this way break. */
  onReset(listener: () => void): () => void {
    this.#resets.add(listener);
    return () => this.#resets.delete(listener);
  }

  toServer(packet: Packet): void {
    if (this.#cut.has('requests')) this.#held.push({ direction: 'requests', packet });
    else this.#world.after(this.#travelMs(), packet.arrive, this.server.process);
  }

  toClient(client: Process, packet: Packet): void {
    if (this.#cut.has('replies'))
      this.#held.push({ direction: 'replies', packet: { ...packet, arrive: () => client.input(0, packet.arrive) } });
    else client.input(this.#travelMs(), packet.arrive);
  }

  cut(directions: readonly Direction[]): void {
    for (const direction of directions) this.#cut.add(direction);
  }

  /** All connections break; whoever waits on one hears of it. */
  reset(): void {
    this.#held = [];
    for (const listener of [...this.#resets]) listener();
  }

  /** The process at this end died: its connections break as soon as the server can hear of it. */
  abandon(): void {
    this.#abandoned.push(...this.#resets);
    this.#resets = new Set();
    if (!this.isCut) this.#breakAbandoned();
  }

  /** What was held back arrives late, in order. */
  heal(): void {
    this.#cut.clear();
    this.#breakAbandoned();
    const { dice } = this.#world;
    let delayMs = 0;
    for (const { direction, packet } of this.#held.splice(0)) {
      delayMs += dice.fraction() * 20;
      if (direction === 'replies') this.#world.after(delayMs, packet.arrive);
      else if (packet.isWanted() || dice.chance(LATE_REQUEST_ARRIVES))
        this.#world.after(delayMs, packet.arrive, this.server.process);
    }
  }

  #breakAbandoned(): void {
    for (const listener of this.#abandoned.splice(0)) listener();
  }
}
