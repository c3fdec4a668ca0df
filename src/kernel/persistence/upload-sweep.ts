/** Throws away the parts of uploads that were given up, that nobody went on with, or whose stream is gone. Every worker sweeps; two that meet take different ones. */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/observe.ts';
import type { BlobParts } from './blob-parts.ts';
import type { Sql } from './sql.ts';
import { doomQuery, forgetQuery } from './upload-queries.ts';

interface UploadSweepDeps {
  readonly db: Sql;
  readonly parts: BlobParts;
  readonly clock: Clock;
  readonly log: Log;
}

const SWEEP_EVERY_MS = 60_000;
const UPLOADS_AT_ONCE = 20;

export class UploadSweep {
  readonly #deps: UploadSweepDeps;
  readonly #stopTimer: () => void;
  #pass: Promise<void> | null = null;
  #isClosed = false;

  constructor(deps: UploadSweepDeps) {
    this.#deps = deps;
    this.#stopTimer = deps.clock.every(SWEEP_EVERY_MS, () => void this.run());
  }

  /** Aborts all that is due, or as much as goes well. One pass at a time; never rejects. */
  run(): Promise<void> {
    this.#pass ??= this.#sweep()
      .catch((error: unknown) => this.#deps.log.warn({ err: error }, 'uploads not swept'))
      .finally(() => {
        this.#pass = null;
      });
    return this.#pass;
  }

  /** Resolves when the batch under way is done. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#stopTimer();
    await this.#pass;
  }

  async #sweep(): Promise<void> {
    const { db, parts, log } = this.#deps;
    let isMore = true;
    while (isMore && !this.#isClosed) {
      const doomed = await db.query(doomQuery(UPLOADS_AT_ONCE));
      const outcomes = await Promise.allSettled(doomed.map((upload) => parts.abort(upload)));
      const gone = doomed.filter((_, index) => outcomes[index]?.status === 'fulfilled').map(({ id }) => id);
      if (gone.length > 0) await db.query(forgetQuery(gone));
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) log.warn({ err: failed.reason, uploads: doomed.length - gone.length }, 'uploads not aborted');
      isMore = gone.length === UPLOADS_AT_ONCE; // the store may be away: then the rest waits
    }
  }
}
