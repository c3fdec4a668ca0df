/**
 * What edits of texts may cost, those of one message or one patch together: they run on the thread on which all rooms live.
 *
 * Counted in things done, never by the clock, so that the same message always meets the same answer.
 */

/**
 * Runs of text that are passed, an operation at a time, and characters that are copied; a third of a second at worst, typing takes a tenth of that. After hours offline an SDK client sends what was
 * typed in all its texts in one message, an operation for each key: 10,000 of them in one text cost half of this, and what is refused is lost.
 */
export const PASSED_RUNS_MAX = 200_000_000;
/** Pairs of operations that meet while edits are moved over others; a third of a second at worst. For the same reason. */
export const PAIRS_MAX = 2_000_000;

/** What is left to one message. */
export class TextWork {
  #runs = PASSED_RUNS_MAX;
  #pairs = PAIRS_MAX;

  /** False, and nothing taken, when less is left. */
  takeRuns(count: number): boolean {
    if (count > this.#runs) return false;
    this.#runs -= count;
    return true;
  }

  hasPairs(count: number): boolean {
    return count <= this.#pairs;
  }

  /** False, and nothing taken, when less is left. */
  takePairs(count: number): boolean {
    if (count > this.#pairs) return false;
    this.#pairs -= count;
    return true;
  }
}
