/**
 * What was written, what was acknowledged, and the judgement of what is there afterwards. Every write carries an id of its own that stays
 * readable for ever. It knows nothing of how things are written or read.
 */
export interface Verdict {
  readonly acked: number;
  /** Acknowledged, or shown to others, and not there. */
  readonly lost: readonly string[];
  /** There more than once. */
  readonly duplicated: readonly string[];
  /** Written without an answer; each may be there or not. */
  readonly unknown: number;
  /** Of the unknown, those that are there. */
  readonly kept: number;
  /** There, and never written. */
  readonly foreign: readonly string[];
}

export class Ledger {
  readonly #written = new Set<string>();
  readonly #acked = new Set<string>();
  readonly #shown = new Set<string>();

  wrote(id: string): void {
    if (this.#written.has(id)) throw new Error(`${id} was written before`);
    this.#written.add(id);
  }

  /** The server said that it has it. */
  acked(id: string): void {
    this.#mustBeWritten(id);
    this.#acked.add(id);
  }

  /** Another client was told of it by a route that tells only what will stay (reliability 3.2, C8). */
  shown(id: string): void {
    this.#mustBeWritten(id);
    this.#shown.add(id);
  }

  /** Acknowledged ids by the kind of write, which is what stands before the first dot. */
  get ackedByKind(): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const id of this.#acked) {
      const kind = id.slice(0, id.indexOf('.'));
      counts[kind] = (counts[kind] ?? 0) + 1;
    }
    return counts;
  }

  /** @param found every id that is there, as often as it is there */
  judge(found: readonly string[]): Verdict {
    const times = new Map<string, number>();
    for (const id of found) times.set(id, (times.get(id) ?? 0) + 1);
    const unknown = [...this.#written].filter((id) => !this.#acked.has(id));
    return {
      acked: this.#acked.size,
      lost: [...new Set([...this.#acked, ...this.#shown])].filter((id) => !times.has(id)),
      duplicated: [...times].flatMap(([id, count]) => (count > 1 ? [id] : [])),
      unknown: unknown.length,
      kept: unknown.filter((id) => times.has(id)).length,
      foreign: [...times.keys()].filter((id) => !this.#written.has(id)),
    };
  }

  #mustBeWritten(id: string): void {
    if (!this.#written.has(id)) throw new Error(`${id} was never written`);
  }
}

/** Ids that are not as often in the one as in the other, each as a sentence. @param what was done to them */
export function timesThatDiffer(expected: readonly string[], found: readonly string[], what: string): string[] {
  const times = (ids: readonly string[], id: string): number => ids.filter((other) => other === id).length;
  return [...new Set([...expected, ...found])].flatMap((id) => {
    const [due, done] = [times(expected, id), times(found, id)];
    return due === done ? [] : [`${id} was ${what} ${done} times instead of ${due}`];
  });
}
