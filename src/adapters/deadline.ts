/**
 * The end of one piece of work that waits for others: after so long, or when who asked for it gives up. Not `AbortSignal.any`, which leaves something of each
 * piece of work in a signal that outlives it (nodejs/node#55351).
 */
import { setMaxListeners } from 'node:events';

export class Deadline {
  readonly #given: AbortSignal | undefined;
  readonly #over = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #giveUp = (): void => this.#over.abort(this.#given?.reason);
  #isLate = false;

  /** `end` is to be called when the work is over. */
  constructor(withinMs: number, given?: AbortSignal) {
    this.#given = given;
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#over.abort();
    }, withinMs);
    if (given !== undefined) setMaxListeners(0, given); // as many listen as there is work under way
    given?.addEventListener('abort', this.#giveUp);
    if (given?.aborted === true) this.#giveUp();
  }

  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Whether the time was over before the work was. */
  get isLate(): boolean {
    return this.#isLate;
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#given?.removeEventListener('abort', this.#giveUp);
  }
}
