/** The ledgers of many rooms as one book: opened and closed together, and counted together. */
import type { Ledger } from './ledger.ts';

export class JointLedger {
  readonly #ledgers: readonly Ledger[];

  constructor(ledgers: readonly Ledger[]) {
    this.#ledgers = ledgers;
  }

  open(): void {
    for (const ledger of this.#ledgers) ledger.open();
  }

  close(): void {
    for (const ledger of this.#ledgers) ledger.close();
  }

  get messages(): number {
    return this.#sum((ledger) => ledger.messages);
  }

  get expected(): number {
    return this.#sum((ledger) => ledger.expected);
  }

  get delivered(): number {
    return this.#sum((ledger) => ledger.delivered);
  }

  get ownMs(): readonly number[] {
    return this.#ledgers.flatMap(({ ownMs }) => ownMs);
  }

  get othersMs(): readonly number[] {
    return this.#ledgers.flatMap(({ othersMs }) => othersMs);
  }

  get problems(): string[] {
    return this.#ledgers.flatMap(({ problems }) => problems);
  }

  #sum(count: (ledger: Ledger) => number): number {
    return this.#ledgers.reduce((sum, ledger) => sum + count(ledger), 0);
  }
}
