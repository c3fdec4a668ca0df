/**
 * What is to be written soon, gathered: one write at a time, in order, again while the database is away. It does not know what is written.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/observe.ts';

interface BatchedWork<Item> {
  /** What is said when a write fails, or too much waits. */
  readonly phrase: string;
  readonly itemsMax: number;
  /** What comes beyond is lost, and said to be. */
  readonly waitingMax: number;
  readonly write: (items: readonly Item[]) => Promise<void>;
}

/** Gathers for so long. */
const WAIT_MS = 50;
const AGAIN_MS = 1_000;
/** At the end, so many batches are still tried. */
const LAST_BATCHES_MAX = 1_000;

export class Batched<Item> {
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #work: BatchedWork<Item>;
  #waiting: Item[] = [];
  #cancel: (() => void) | null = null;
  #writing: Promise<void> | null = null;
  #isClosed = false;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, work: BatchedWork<Item>) {
    this.#clock = clock;
    this.#log = log;
    this.#work = work;
  }

  add(item: Item): void {
    if (this.#waiting.length >= this.#work.waitingMax) {
      this.#log.error({ waiting: this.#waiting.length }, `${this.#work.phrase}: too much waits`);
      this.#waiting.shift();
    }
    this.#waiting.push(item);
    this.#schedule(WAIT_MS);
  }

  /** Writes what waits; what cannot be written now is lost. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    await this.#writing;
    for (let batches = 0; this.#waiting.length > 0 && batches < LAST_BATCHES_MAX; batches += 1)
      if (!(await this.#writeSome())) return;
  }

  #schedule(afterMs: number): void {
    if (this.#cancel !== null || this.#writing !== null || this.#isClosed) return;
    this.#cancel = this.#clock.after(afterMs, () => {
      this.#cancel = null;
      this.#writing = this.#writeSome().then((isWritten) => {
        this.#writing = null;
        if (this.#waiting.length > 0) this.#schedule(isWritten ? 0 : AGAIN_MS);
      });
    });
  }

  /** Returns whether it went well; never rejects. */
  async #writeSome(): Promise<boolean> {
    const items = this.#waiting.splice(0, this.#work.itemsMax);
    try {
      await this.#work.write(items);
      return true;
    } catch (error) {
      this.#log.warn({ err: error, items: items.length }, this.#work.phrase);
      this.#waiting.unshift(...items);
      return false;
    }
  }
}
