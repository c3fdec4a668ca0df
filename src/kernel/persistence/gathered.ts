/**
 * Work that is cheaper done together: one batch is under way at a time, and what is asked for meanwhile is the next, which begins when its `Delay` is over,
 * when it is full, or when somebody cannot wait.
 */
import { AppError } from '../../base/errors.ts';

/** How long a batch waits for company. */
export interface Delay {
  /** Whether the next batch is to wait still. */
  readonly isOn: boolean;
  came(): void;
  /** A batch ended that answered so many, while so many others wait. */
  answered(count: number, waiting: number): void;
  /** A batch begins. */
  stop(): void;
}

interface GatheredWork<Item, Outcome> {
  readonly itemsMax: number;
  readonly waitingMax: number;
  /** It calls `begin` when the time of a batch has come by itself. */
  readonly delay: (begin: () => void) => Delay;
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
  readonly #delay: Delay;
  #waiting: Waiting<Item, Outcome>[] = [];
  /** So many of them, from the first on, wait for no company. */
  #hurried = 0;
  #isRunning = false;

  constructor(work: GatheredWork<Item, Outcome>) {
    this.#work = work;
    this.#delay = work.delay(() => this.#wake());
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

  /** What waits, waits no longer for company. */
  hurry(): void {
    this.#hurried = this.#waiting.length;
    this.#wake();
  }

  #wake(): void {
    if (!this.#isRunning && this.#isTime) void this.#run();
  }

  get #isTime(): boolean {
    const { length } = this.#waiting;
    return length > 0 && (!this.#delay.isOn || this.#hurried > 0 || length >= this.#work.itemsMax);
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    do {
      this.#delay.stop();
      const batch = this.#waiting.splice(0, this.#work.itemsMax);
      this.#hurried = Math.max(0, this.#hurried - batch.length);
      await this.#runBatch(batch);
      this.#delay.answered(batch.length, this.#waiting.length);
    } while (this.#isTime);
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
