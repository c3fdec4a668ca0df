/**
 * Remembers the ids that came last, in bounded memory: at least `max` of them, at most twice as many.
 *
 * Two generations: when the young one is full it becomes the old one, and the old one is forgotten. No id is ever moved singly.
 */
export class RecentIds {
  readonly #max: number;
  #old = new Set<string>();
  #young = new Set<string>();

  constructor(max: number, ids: Iterable<string> = []) {
    this.#max = max;
    for (const id of ids) this.add(id);
  }

  add(id: string): void {
    if (this.#young.size >= this.#max) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    this.#young.add(id);
  }

  delete(id: string): void {
    this.#young.delete(id);
    this.#old.delete(id);
  }

  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  /** The last `max` ids, oldest first. The ids must have been added once each. */
  latest(): string[] {
    return [...this.#old, ...this.#young].slice(-this.#max);
  }
}
