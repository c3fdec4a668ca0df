/**
 * Row locks as Postgres has them: four strengths, held until the transaction ends. A request that fits the holders is granted at once, even past
 * others that wait; the rest wait in order of arrival, as long as `lock_timeout` lets them.
 */
export type Strength = 'keyShare' | 'share' | 'noKeyUpdate' | 'update';

/** By the table "Conflicting Row-Level Locks" of the manual. */
const CONFLICTS: Readonly<Record<Strength, readonly Strength[]>> = {
  keyShare: ['update'],
  share: ['noKeyUpdate', 'update'],
  noKeyUpdate: ['share', 'noKeyUpdate', 'update'],
  update: ['keyShare', 'share', 'noKeyUpdate', 'update'],
};

interface Waiting<Holder> {
  readonly holder: Holder;
  readonly strength: Strength;
  readonly granted: () => void;
}

interface Row<Holder> {
  readonly held: { readonly holder: Holder; readonly strength: Strength }[];
  readonly waiting: Waiting<Holder>[];
}

export class Locks<Holder> {
  readonly #rows = new Map<string, Row<Holder>>();
  readonly #keysOf = new Map<Holder, Set<string>>();

  /** Takes the lock if nobody's is in the way. */
  tryTake(key: string, strength: Strength, holder: Holder): boolean {
    const row = this.#rows.get(key) ?? { held: [], waiting: [] };
    if (!fits(row, strength, holder)) return false;
    this.#rows.set(key, row);
    this.#hold(row, { key, strength, holder });
    return true;
  }

  /** Calls `granted` once the lock is held; the returned function gives up waiting. */
  wait(key: string, strength: Strength, { holder, granted }: { holder: Holder; granted: () => void }): () => void {
    const { waiting } = this.#rows.get(key)!; // somebody is in the way
    const one = { holder, strength, granted };
    waiting.push(one);
    return () => {
      const at = waiting.indexOf(one);
      if (at >= 0) waiting.splice(at, 1);
    };
  }

  /** The end of a transaction. */
  releaseAll(holder: Holder): void {
    const keys = this.#keysOf.get(holder);
    if (keys === undefined) return;
    this.#keysOf.delete(holder);
    for (const key of keys) {
      const row = this.#rows.get(key)!;
      row.held.splice(0, row.held.length, ...row.held.filter((one) => one.holder !== holder));
      this.#grantNext(key, row);
    }
  }

  #grantNext(key: string, row: Row<Holder>): void {
    for (const one of [...row.waiting]) {
      // Who was granted just now may have finished, and what it freed gone to the next.
      if (!row.waiting.includes(one) || !fits(row, one.strength, one.holder)) continue;
      row.waiting.splice(row.waiting.indexOf(one), 1);
      this.#hold(row, { key, ...one });
      one.granted();
    }
    if (row.held.length === 0 && row.waiting.length === 0 && this.#rows.get(key) === row) this.#rows.delete(key);
  }

  #hold(row: Row<Holder>, { key, strength, holder }: { key: string; strength: Strength; holder: Holder }): void {
    row.held.push({ holder, strength });
    const keys = this.#keysOf.get(holder);
    if (keys === undefined) this.#keysOf.set(holder, new Set([key]));
    else keys.add(key);
  }
}

function fits<Holder>({ held }: Row<Holder>, strength: Strength, holder: Holder): boolean {
  return held.every((one) => one.holder === holder || !CONFLICTS[strength].includes(one.strength));
}
