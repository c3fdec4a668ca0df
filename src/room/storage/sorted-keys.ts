/**
 * Strings in order, in chunks: finding one is a binary search, and adding or removing one moves a chunk's worth of neighbours at most,
 * however many there are.
 */

/** A longer chunk is cut in two. Larger: more to move for each change; smaller: more chunks to search and hold. */
const CHUNK_MAX = 512;

export class SortedKeys {
  /** None is empty, except when it is the only one. */
  readonly #chunks: string[][] = [[]];

  constructor(keys: Iterable<string>) {
    const sorted = [...keys].sort();
    for (let from = 0; from < sorted.length; from += CHUNK_MAX / 2)
      this.#chunks[from / (CHUNK_MAX / 2)] = sorted.slice(from, from + CHUNK_MAX / 2);
  }

  /** Adds a key that is not there. */
  add(key: string): void {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at]!;
    if (chunk.length === 0 || chunk.at(-1)! < key) chunk.push(key);
    else chunk.splice(lowerBound(chunk, key), 0, key);
    if (chunk.length > CHUNK_MAX) this.#chunks.splice(at + 1, 0, chunk.splice(CHUNK_MAX / 2));
  }

  /** Removes a key that is there. */
  delete(key: string): void {
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at]!;
    chunk.splice(lowerBound(chunk, key), 1);
    if (chunk.length === 0 && this.#chunks.length > 1) this.#chunks.splice(at, 1);
  }

  last(): string | undefined {
    return this.#chunks.at(-1)!.at(-1);
  }

  /** The smallest key greater than `key`, which itself need not be there. */
  after(key: string): string | undefined {
    const chunkAt = this.#chunkOf(key);
    const chunk = this.#chunks[chunkAt]!;
    const at = lowerBound(chunk, key);
    return chunk[chunk[at] === key ? at + 1 : at] ?? this.#chunks[chunkAt + 1]?.[0];
  }

  /** The key at an index. Steps from chunk to chunk. */
  at(index: number): string | undefined {
    let rest = index;
    for (const chunk of this.#chunks) {
      if (rest < chunk.length) return chunk[rest];
      rest -= chunk.length;
    }
    return undefined;
  }

  toArray(): string[] {
    return this.#chunks.flat();
  }

  /** The last chunk that begins at or before `key`, or the first one. */
  #chunkOf(key: string): number {
    let from = 0;
    let to = this.#chunks.length - 1;
    while (from < to) {
      const middle = (from + to + 1) >> 1;
      if (this.#chunks[middle]![0]! <= key) from = middle;
      else to = middle - 1;
    }
    return from;
  }
}

/** The first index whose key is not before `key`. */
function lowerBound(keys: readonly string[], key: string): number {
  let from = 0;
  let to = keys.length;
  while (from < to) {
    const middle = (from + to) >> 1;
    if (keys[middle]! < key) from = middle + 1;
    else to = middle;
  }
  return from;
}
