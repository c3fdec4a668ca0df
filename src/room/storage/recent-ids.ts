/**
 * Remembers the ids that came last, each with a number, in bounded memory: at least `max` of them, at most twice as many.
 *
 * Two generations: when the young one is full it becomes the old one, and the old one is forgotten. No id is ever moved singly.
 */

/** Many rooms never have one. Nothing is ever put into it. */
const NONE: Map<string, number> = new Map();

/** The two as they were at one time; the young one goes on growing. */
export interface Generations {
  readonly old: Map<string, number>;
  readonly young: Map<string, number>;
}

export class RecentIds {
  readonly #max: number;
  #old = NONE;
  #young = NONE;

  constructor(max: number, ids: Iterable<string> = []) {
    this.#max = max;
    for (const id of ids) this.add(id);
  }

  add(id: string, note = 0): void {
    if (this.#young.size >= this.#max) {
      this.#old = this.#young;
      this.#young = NONE;
    }
    if (this.#young === NONE) this.#young = new Map();
    this.#young.set(id, note);
  }

  /** What to give `returnTo` to take back that the next id is added. */
  generations(): Generations {
    return { old: this.#old, young: this.#young };
  }

  /** Takes back that `id` was added, and all that was added behind it must have been taken back before. */
  returnTo({ old, young }: Generations, id: string): void {
    this.#old = old;
    this.#young = young;
    young.delete(id);
  }

  /** Adds the id, or gives one that is known another number. */
  put(id: string, note: number): void {
    if (this.#old.has(id)) this.#old.set(id, note);
    else if (this.#young.has(id)) this.#young.set(id, note);
    else this.add(id, note);
  }

  /** Undefined when the id is not known. */
  noteOf(id: string): number | undefined {
    return this.#young.get(id) ?? this.#old.get(id);
  }

  has(id: string): boolean {
    return this.#young.has(id) || this.#old.has(id);
  }

  /** The last `max` ids, oldest first. The ids must have been added once each. */
  latest(): string[] {
    return [...this.#old.keys(), ...this.#young.keys()].slice(-this.#max);
  }

  /** The numbers of the latest ids, in the same order. */
  latestNotes(): number[] {
    return [...this.#old.values(), ...this.#young.values()].slice(-this.#max);
  }
}
