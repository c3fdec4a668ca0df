/**
 * What edits of texts may cost, those of one message or one patch together: they run on the thread on which all rooms live.
 *
 * Counted in things done, never by the clock, so that the same message always meets the same answer.
 */

/** Runs of text that are passed, an operation at a time; some 80 ms at worst. Thousands of keystrokes typed offline stay below. */
export const PASSED_RUNS_MAX = 50_000_000;
/** Pairs of operations that meet while edits are moved over others; some 80 ms at worst. */
export const PAIRS_MAX = 500_000;

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
