/**
 * Notices that the database was replaced by one of its standbys, for which each promotion begins a new timeline of the write-ahead log. One that follows
 * asynchronously may lack the last commits: what was acknowledged by them is in the memory of who wrote it alone, and what he appends next would leave a gap
 * in the journal (reliability, "The Postgres failover itself").
 */
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import { named, type Query, type Sql, sql } from './sql.ts';

export interface TimelineWatchDeps {
  readonly db: Sql;
  readonly clock: Clock;
  readonly log: Log;
  /** The database is on another timeline than it was. */
  readonly onPromoted: () => void;
}

const LOOK_EVERY_MS = 2_000;

export class TimelineWatch {
  readonly #deps: TimelineWatchDeps;
  readonly #stop: () => void;
  #timeline: string | null = null;
  /** Null while none is under way. */
  #looking: Promise<void> | null = null;

  constructor(deps: TimelineWatchDeps) {
    this.#deps = deps;
    this.#stop = deps.clock.every(LOOK_EVERY_MS, () => this.#lookUnlessLooking());
    this.#lookUnlessLooking();
  }

  /** Resolves when the look under way is over. */
  async close(): Promise<void> {
    this.#stop();
    await this.#looking;
  }

  #lookUnlessLooking(): void {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
  }

  async #look(): Promise<void> {
    const { db, log, onPromoted } = this.#deps;
    try {
      const [found] = await db.query(timelineQuery());
      const before = this.#timeline;
      const timeline = found?.timeline ?? before;
      this.#timeline = timeline;
      if (before === timeline || before === null) return;
      log.warn({ before, timeline }, 'database was replaced by a standby: rooms in memory are claimed and saved anew');
      onPromoted();
    } catch (error) {
      const isAway = error instanceof AppError || this.#timeline !== null; // and perhaps another one comes back
      if (isAway) return log.debug({ err: error }, 'timeline not seen');
      log.info({ err: error }, 'this database tells no timeline, so its failovers are not noticed');
      this.#stop();
    }
  }
}

/** The first eight hexadecimal digits in the name of a file of the log are its timeline; a standby writes none. */
function timelineQuery(): Query<{ timeline: string | null }> {
  const query = sql<{ timeline: string | null }>`
    select case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline`;
  return named('timeline', query);
}
