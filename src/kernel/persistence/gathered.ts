/**
 * Work that is cheaper done together: one batch is under way at a time, and what is asked for meanwhile is the next, which waits a moment for those whom
 * the last one answered (`CommitDelay`), and for nobody else.
 */
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import { CommitDelay } from './commit-delay.ts';

interface GatheredWork<Item, Outcome> {
  readonly clock: Clock;
  readonly itemsMax: number;
  readonly waitingMax: number;
  /**
   * One outcome for each item, in their order. An AppError that it throws is for all who asked; after anything else, which one of them must have caused,
   * each is done alone.
   */
  readonly work: (items: readonly Item[]) => Promise<readonly Outcome[]>;
}

interface Waiting<Item, Outcome> {
  readonly item: Item;
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: unknown) => void;
}

export class Gathered<Item, Outcome> {
  readonly #work: GatheredWork<Item, Outcome>;
  readonly #delay: CommitDelay;
  #waiting: Waiting<Item, Outcome>[] = [];
  #isRunning = false;

  constructor(work: GatheredWork<Item, Outcome>) {
    this.#work = work;
    this.#delay = new CommitDelay({ clock: work.clock, begin: () => this.#wake() });
  }

  /** @throws AppError ROOM_OVERLOADED when too many wait; nothing was done then. */
  ask(item: Item): Promise<Outcome> {
    if (this.#waiting.length >= this.#work.waitingMax) throw new AppError('ROOM_OVERLOADED');
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      this.#delay.came();
      this.#wake();
    });
  }

  #wake(): void {
    if (!this.#isRunning && !this.#delay.isOn && this.#waiting.length > 0) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    do {
      const batch = this.#waiting.splice(0, this.#work.itemsMax);
      await this.#runBatch(batch);
      this.#delay.answered(batch.length, this.#waiting.length);
    } while (this.#waiting.length > 0 && !this.#delay.isOn);
    this.#isRunning = false; // in the turn of the last look, so nobody falls between
  }

  async #runBatch(batch: readonly Waiting<Item, Outcome>[]): Promise<void> {
    try {
      const outcomes = await this.#work.work(batch.map(({ item }) => item));
      for (const [index, { resolve }] of batch.entries()) resolve(outcomes[index]!);
    } catch (error) {
      if (batch.length > 1 && !(error instanceof AppError)) for (const one of batch) await this.#runBatch([one]);
      else for (const { reject } of batch) reject(error);
    }
  }
}
