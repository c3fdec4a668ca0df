/** The directory of embedded mode: one process, so what it knows is true until that process ends. Tests share one between workers. */
import type { Clock } from '../base/clock.ts';
import type { Incarnation } from '../base/ids.ts';
import { type Directory, type Location, WORKER_SILENT_MS, type WorkerEntry } from '../kernel/cluster/directory.ts';

interface Heard {
  readonly entry: WorkerEntry;
  readonly atMs: number;
}

export class MemoryDirectory implements Directory {
  readonly #clock: Clock;
  readonly #workers = new Map<Incarnation, Heard>();
  readonly #locations = new Map<string, Location>();

  constructor({ clock }: { clock: Clock }) {
    this.#clock = clock;
  }

  async heartbeat(self: WorkerEntry): Promise<WorkerEntry[]> {
    const nowMs = this.#clock.monotonicMs();
    this.#workers.set(self.incarnation, { entry: self, atMs: nowMs });
    for (const [incarnation, { atMs }] of this.#workers) if (nowMs - atMs > WORKER_SILENT_MS) this.#workers.delete(incarnation);
    return [...this.#workers.values()].map(({ entry }) => entry);
  }

  async leave(incarnation: Incarnation): Promise<void> {
    this.#workers.delete(incarnation);
  }

  async locate(key: string): Promise<Location | null> {
    return this.#locations.get(key) ?? null;
  }

  async publish(location: Location): Promise<void> {
    const known = this.#locations.get(location.key);
    if (known === undefined || location.epoch > known.epoch) this.#locations.set(location.key, location);
  }

  async retract({ key, incarnation, epoch }: Location): Promise<void> {
    const known = this.#locations.get(key);
    if (known?.incarnation === incarnation && known.epoch === epoch) this.#locations.delete(key);
  }

  /** What a Redis that starts empty does. */
  clear(): void {
    this.#workers.clear();
    this.#locations.clear();
  }

  async close(): Promise<void> {
    this.clear();
  }
}
