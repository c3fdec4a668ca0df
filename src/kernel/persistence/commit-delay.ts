/**
 * Whether a commit that could begin waits for company (what Postgres calls commit_delay). Who writes again as soon as it is answered comes back a moment
 * after the commit that answered it. A next commit that begins at once takes only those who waited meanwhile, and from then on two halves wait for each
 * other, at twice the cost: so it waits until as many have come as were answered, for a moment, and where they do not come, not again for a while.
 */
import type { Clock } from '../../base/clock.ts';
import type { Delay } from './gathered.ts';

/** Long enough for clients nearby to hear their answers and to write again. */
const MOMENT_MS = 2;
/** After so many commits, at most, waiting is tried again. */
const COMMITS_MAX = 256;

export class CommitDelay implements Delay {
  readonly #clock: Clock;
  readonly #begin: () => void;
  /** How many must come before the next commit begins by itself. */
  #expected = 0;
  #cancel: (() => void) | null = null;
  /** Commits that will not wait, and how many it will be when waiting was in vain once more. */
  #commitsLeft = 0;
  #commitsNext = 1;

  /** `begin` is called when the moment is over. */
  constructor(deps: { readonly clock: Clock; readonly begin: () => void }) {
    this.#clock = deps.clock;
    this.#begin = deps.begin;
  }

  /** Whether the next commit is to wait still. */
  get isOn(): boolean {
    return this.#expected > 0;
  }

  /** A commit ended that answered so many, while so many others wait. Many do not wait for few, nor does one wait for itself. */
  answered(count: number, waiting: number): void {
    this.stop();
    if (count < waiting || count + waiting < 2) return;
    if (this.#commitsLeft > 0) {
      this.#commitsLeft -= 1;
      return;
    }
    this.#expected = count;
    this.#cancel = this.#clock.after(MOMENT_MS, () => this.#isOver());
  }

  /** One came that may be one of them. */
  came(): void {
    if (this.#expected === 0) return;
    this.#expected -= 1;
    if (this.#expected > 0) return;
    this.stop();
    this.#commitsNext = 1;
  }

  /** The next commit begins all the same. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#expected = 0;
  }

  #isOver(): void {
    this.stop();
    this.#commitsLeft = this.#commitsNext;
    this.#commitsNext = Math.min(COMMITS_MAX, this.#commitsNext * 2);
    this.#begin();
  }
}
