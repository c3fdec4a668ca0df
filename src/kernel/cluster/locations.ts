/** Where actors were found last: a bounded memory, the oldest entry goes first. Beliefs, not facts. */
import type { WorkerAddress } from '../../base/ids.ts';
import { putNewest } from '../../base/newest.ts';

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
    putNewest(this.#at, key, at, KEPT_MAX);
  }

  forget(key: string): void {
    this.#at.delete(key);
  }

  forgetAll(at: WorkerAddress): void {
    for (const [key, known] of this.#at) if (known === at) this.#at.delete(key);
  }
}
