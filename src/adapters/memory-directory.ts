/** The directory of embedded mode: one process, so what it knows is true until that process ends. */
import type { Incarnation } from '../base/ids.ts';
import type { Directory, Location, WorkerEntry } from '../kernel/cluster/directory.ts';

export class MemoryDirectory implements Directory {
  readonly #workers = new Map<Incarnation, WorkerEntry>();
  readonly #locations = new Map<string, Location>();

  async heartbeat(self: WorkerEntry): Promise<WorkerEntry[]> {
    this.#workers.set(self.incarnation, self);
    return [...this.#workers.values()];
  }

  /** What a silence of several heartbeats does elsewhere: the worker and its locations are forgotten. */
  forget(incarnation: Incarnation): void {
    this.#workers.delete(incarnation);
    for (const [key, location] of this.#locations) if (location.incarnation === incarnation) this.#locations.delete(key);
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
}
