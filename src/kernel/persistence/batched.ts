/**
 * What is to be written soon, gathered: one write at a time, in order, again while the database is away. It does not know what is written. What the
 * database refuses is looked for by halves, and lost alone: it would keep all that comes after it from being written. What takes it too long is
 * halved, too, and never lost.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/observe.ts';
import { isRefusedForItsData, isStatementTimeout } from './sql.ts';

interface BatchedWork<Item> {
  /** What is said when a write fails, or too much waits. */
  readonly phrase: string;
  readonly itemsMax: number;
  /** What comes beyond is lost, and said to be. */
  readonly waitingMax: number;
  readonly write: (items: readonly Item[]) => Promise<void>;
  /** It will not be written. */
  readonly onLost?: (item: Item) => void;
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
  /** As many are written together; fewer after a refusal, or a statement that took too long. */
  #atOnce: number;

  constructor({ clock, log }: { readonly clock: Clock; readonly log: Log }, work: BatchedWork<Item>) {
    this.#clock = clock;
    this.#log = log;
    this.#work = work;
    this.#atOnce = work.itemsMax;
  }

  add(item: Item): void {
    if (this.#waiting.length >= this.#work.waitingMax) {
      this.#log.error({ waiting: this.#waiting.length }, `${this.#work.phrase}: too much waits`);
      this.#work.onLost?.(this.#waiting.shift()!);
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

  /** Returns whether the next may be written now; never rejects. */
  async #writeSome(): Promise<boolean> {
    const items = this.#waiting.splice(0, this.#atOnce);
    try {
      await this.#work.write(items);
      this.#atOnce = Math.min(this.#work.itemsMax, this.#atOnce * 2);
      return true;
    } catch (error) {
      return this.#failed(items, error);
    }
  }

  #failed(items: readonly Item[], error: unknown): boolean {
    const { phrase, onLost } = this.#work;
    const isRefused = isRefusedForItsData(error);
    if (isRefused && items.length === 1) {
      this.#log.error({ err: error }, `${phrase}: refused, and lost`);
      onLost?.(items[0]!);
      return true;
    }
    this.#log.warn({ err: error, items: items.length }, phrase);
    this.#waiting.unshift(...items);
    if (isRefused || isStatementTimeout(error)) this.#atOnce = Math.ceil(items.length / 2);
    return isRefused;
  }
}
