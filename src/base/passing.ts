/**
 * A map for entries that come and go for as long as the process lives.
 *
 * A `Map` of V8 that has no room left makes itself a new table, and the table it leaves behind points to the new one, for iterations under way. Once such a
 * table is old garbage, it keeps alive what it still names, and the next table, which does the same, until the garbage of the whole heap is collected: what
 * lived a moment is then copied twice and marked. So now and then the entries move to a new `Map`, which no old table knows.
 */

const GONE_MIN = 100;

export class PassingMap<Key, Value> {
  #entries = new Map<Key, Value>();
  /** Deletions since the entries moved last. */
  #gone = 0;

  get size(): number {
    return this.#entries.size;
  }

  has(key: Key): boolean {
    return this.#entries.has(key);
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.#entries.set(key, value);
  }

  delete(key: Key): boolean {
    if (!this.#entries.delete(key)) return false;
    this.#gone += 1;
    if (this.#gone >= GONE_MIN && this.#gone >= this.#entries.size) this.#move();
    return true;
  }

  /** The one that came first of those that are here. */
  first(): [Key, Value] | undefined {
    return this.#entries.entries().next().value;
  }

  /** As of now, in the order in which they came. */
  keys(): Key[] {
    return [...this.#entries.keys()];
  }

  #move(): void {
    this.#entries = new Map(this.#entries);
    this.#gone = 0;
  }
}
