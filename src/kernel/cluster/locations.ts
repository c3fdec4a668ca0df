/** Where actors were found last: a bounded memory, the oldest entry goes first. Beliefs, not facts. */
import type { WorkerAddress } from '../../base/ids.ts';

const KEPT_MAX = 100_000;

export class Locations {
  readonly #at = new Map<string, WorkerAddress>();

  get isEmpty(): boolean {
    return this.#at.size === 0;
  }

  get(key: string): WorkerAddress | undefined {
    return this.#at.get(key);
  }

  set(key: string, at: WorkerAddress): void {
    this.#at.delete(key); // the newest is last
    this.#at.set(key, at);
    if (this.#at.size <= KEPT_MAX) return;
    const [oldest] = this.#at.keys();
    this.#at.delete(oldest!);
  }

  forget(key: string): void {
    this.#at.delete(key);
  }

  forgetAll(at: WorkerAddress): void {
    for (const [key, known] of this.#at) if (known === at) this.#at.delete(key);
  }
}
