/**
 * Whether the wall clock of this worker is that of the database, for the log. Leases and the order of changes do not need it; but a worker that is behind
 * another refuses the tokens that the other signs, and one that is ahead tells clients that they have heard of changes which are still to come.
 */
import type { Log } from '../../base/observe.ts';

/** A third of what tokens bear (`features/tokens`), a sixth of what clients that ask for changes do (`protocol/paging.ts`). */
const OFF_MS_MAX = 10_000;
/** Within this it is right again, so that one at the bound is not told of again and again. */
const RIGHT_MS_MAX = 5_000;

export interface TimeHeard {
  /** What the database said, and this worker's own time before it asked and after it heard. */
  readonly databaseMs: number;
  readonly askedMs: number;
  readonly heardMs: number;
}

export class WallClock {
  readonly #log: Log;
  #isOff = false;

  constructor(log: Log) {
    this.#log = log;
  }

  compare(heard: TimeHeard): void {
    const aheadMs = aheadOf(heard);
    const isOff = Math.abs(aheadMs) > (this.#isOff ? RIGHT_MS_MAX : OFF_MS_MAX);
    if (isOff === this.#isOff) return;
    this.#isOff = isOff;
    if (isOff) this.#log.warn({ aheadMs }, 'clock is not that of the database');
    else this.#log.info({}, 'clock is that of the database again');
  }
}

/** What is certain, however long the answer took: 0 where the database's time may have been between the other two. */
function aheadOf({ databaseMs, askedMs, heardMs }: TimeHeard): number {
  if (databaseMs < askedMs) return Math.round(askedMs - databaseMs);
  return Math.round(Math.min(0, heardMs - databaseMs));
}
