/**
 * Deletes blobs that nothing refers to (`loose_blobs`), and aborts uploads that nobody ended. Every worker sweeps; two that meet take different keys.
 */
import type { Clock } from '../../base/clock.ts';
import type { Log } from '../../base/observe.ts';
import type { Blobs } from './blobs.ts';
import { type Query, type Sql, sql } from './sql.ts';
import { Sweep } from './sweep.ts';

interface BlobSweepDeps {
  readonly db: Sql;
  readonly blobs: Blobs;
  readonly clock: Clock;
  readonly log: Log;
}

const SWEEP_EVERY_MS = 60_000;
const ABORT_EVERY_MS = 3_600_000;
/** An upload in parts may be paused over a weekend. */
const STALE_AFTER_MS = 7 * 24 * 3_600_000;
const KEYS_AT_ONCE = 100;
const DELETES_AT_ONCE = 10;

export class BlobSweep {
  readonly #deps: BlobSweepDeps;
  readonly #sweep: Sweep;
  readonly #stopAborting: () => void;

  constructor(deps: BlobSweepDeps) {
    this.#deps = deps;
    this.#sweep = new Sweep(deps, { phrase: 'blobs not swept', everyMs: SWEEP_EVERY_MS, some: () => this.#some() });
    this.#stopAborting = deps.clock.every(ABORT_EVERY_MS, () => void this.#abortStale());
  }

  /** Deletes all that is due, or as much as goes well. One pass at a time; never rejects. */
  run(): Promise<void> {
    return this.#sweep.run();
  }

  /** Resolves when the batch under way is done. */
  close(): Promise<void> {
    this.#stopAborting();
    return this.#sweep.close();
  }

  async #some(): Promise<boolean> {
    const { db } = this.#deps;
    const keys = (await db.query(doomQuery(KEYS_AT_ONCE))).map(({ key }) => key);
    const deleted = await this.#deleteAll(keys);
    if (deleted.length > 0) await db.query(sql`delete from loose_blobs where key = any(${deleted}::text[])`);
    return deleted.length === KEYS_AT_ONCE;
  }

  /** Returns the keys that are gone. After a few failures the rest waits: the store is away. */
  async #deleteAll(keys: readonly string[]): Promise<string[]> {
    const deleted: string[] = [];
    for (let at = 0; at < keys.length && deleted.length === at; at += DELETES_AT_ONCE) {
      const some = keys.slice(at, at + DELETES_AT_ONCE);
      const outcomes = await Promise.allSettled(some.map((key) => this.#deps.blobs.delete(key)));
      deleted.push(...some.filter((_, index) => outcomes[index]?.status === 'fulfilled'));
      const failed = outcomes.find((outcome) => outcome.status === 'rejected');
      if (failed !== undefined) this.#deps.log.warn({ err: failed.reason, keys: some.length }, 'unused blobs not deleted');
    }
    return deleted;
  }

  async #abortStale(): Promise<void> {
    const { blobs, clock, log } = this.#deps;
    try {
      const uploads = await blobs.parts.abortStale({ beforeMs: clock.nowMs() - STALE_AFTER_MS });
      if (uploads > 0) log.info({ uploads }, 'stale uploads aborted');
    } catch (error) {
      log.warn({ err: error }, 'stale uploads not aborted');
    }
  }
}

/** Nothing may refer to these from now on. Those whose deletion fails come again in ten minutes. */
function doomQuery(limit: number): Query<{ key: string }> {
  return sql<{ key: string }>`
    update loose_blobs set doomed = true, due_at = now() + interval '10 minutes'
     where key in (select key from loose_blobs where due_at <= now() order by due_at limit ${limit} for update skip locked)
    returning key`;
}
