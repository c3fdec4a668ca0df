/** The database under everything: a private Postgres, or the one of DATABASE_URL; its schema brought up to this build. */
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../adapters/embedded-postgres.ts';
import { readMigrations } from '../adapters/migration-files.ts';
import { openPostgres, type PostgresSql } from '../adapters/postgres-sql.ts';
import { mustReadPostgresUrl } from '../adapters/postgres-url.ts';
import { Away } from '../base/away.ts';
import { pause, systemClock, systemRandom } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';
import { StartEnded, StartRefused } from '../base/start-refused.ts';
import type { Settings } from '../config.ts';
import { migrate } from '../kernel/persistence/migrate.ts';
import { type Sql, SqlError } from '../kernel/persistence/sql.ts';

export interface Database {
  readonly db: Sql;
  /** Connections of their own for claims and the journal: no load of reads may keep a write from being acknowledged. */
  readonly authority: Sql;
  /** For the lease alone: nothing that takes long may keep it from being renewed. */
  readonly lease: Sql;
  /** Only this process can be using it: the lock on DATA_DIR proves it. */
  readonly isPrivate: boolean;
  close(): Promise<void>;
}

/** A migration may wait for another worker's, and rewrite a table. */
const MIGRATION_MS_MAX = 600_000;
/** A database that restarts, or fails over, is back by then; one that was never there deserves a sentence soon. */
const WAIT_MS_MAX = 30_000;
const AGAIN_MS = 250;
/** One for the journal's batch on its way, two for claims and snapshots. */
const AUTHORITY_POOL_MAX = 3;
/** The second is made when the first hangs: a new lease must not wait for that. */
const LEASE_POOL_MAX = 2;

interface OpenDatabase extends WaitOptions {
  readonly onFatal: (reason: string) => void;
}

/** @throws StartRefused with one sentence for the person who starts it, or StartEnded. */
export async function openDatabase(
  { DATABASE_URL, DATABASE_POOL_MAX, DATA_DIR }: Settings,
  { log, onFatal, ending = NEVER }: OpenDatabase,
): Promise<Database> {
  if (DATABASE_URL !== undefined) mustReadPostgresUrl(DATABASE_URL);
  let embedded: EmbeddedPostgres | null = null;
  if (DATABASE_URL === undefined) {
    embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR, clock: systemClock, random: systemRandom, log, onExit: onFatal });
  }
  const url = DATABASE_URL ?? embedded!.url;
  try {
    // One that does not even refuse is waited for within an attempt. What a migration has not committed is as after a crash: not there.
    await whenDatabaseAnswers(() => unlessEnding(migrateAt(url, log), ending), { log, ending });
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
  const health = new Away({ clock: systemClock, log, away: 'database away', back: 'database back' });
  const open = (poolMax: number): PostgresSql => openPostgres({ url, poolMax, log, health });
  const [db, authority, lease] = [open(DATABASE_POOL_MAX), open(AUTHORITY_POOL_MAX), open(LEASE_POOL_MAX)];
  const close = async (): Promise<void> => {
    await Promise.all([db.close(), authority.close(), lease.close()]);
    await embedded?.stop();
  };
  return { db, authority, lease, isPrivate: embedded !== null, close };
}

async function migrateAt(url: string, log: Log): Promise<void> {
  const db = openPostgres({ url, poolMax: 1, log, lockMsMax: MIGRATION_MS_MAX, statementMsMax: MIGRATION_MS_MAX });
  try {
    const applied = await migrate(db, await readMigrations());
    if (applied.length > 0) log.info({ migrations: applied }, 'schema migrated');
  } finally {
    await db.close();
  }
}

export interface WaitOptions {
  readonly log: Log;
  /** Resolves when somebody asks that this process end: then nothing is waited for any more. */
  readonly ending?: Promise<void> | undefined;
}

const NEVER = new Promise<void>(() => undefined);

/**
 * Does what a start needs of the database, again while that is away: workers are started at any time, also while it restarts.
 * @throws StartRefused when it stays away, or says that DATABASE_URL will not do; StartEnded
 */
export async function whenDatabaseAnswers<Result>(
  work: () => Promise<Result>,
  { log, ending = NEVER }: WaitOptions,
): Promise<Result> {
  const endMs = systemClock.monotonicMs() + WAIT_MS_MAX;
  let logged: string | null = null;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const refusal = refusalFor(error);
      if (refusal !== null) throw refusal;
      if (!(error instanceof AppError) || error.code !== 'DATABASE_UNAVAILABLE') throw error;
      const reason = String(error.facts.reason);
      if (systemClock.monotonicMs() > endMs)
        throw new StartRefused(`The database does not answer (${reason}); start it, or correct DATABASE_URL.`, { cause: error });
      if (reason !== logged) log.warn({ reason }, 'the start waits for the database');
      logged = reason;
      await unlessEnding(pause(systemClock, AGAIN_MS), ending);
    }
  }
}

function unlessEnding<Result>(work: Promise<Result>, ending: Promise<void>): Promise<Result> {
  const ended = ending.then((): never => {
    throw new StartEnded();
  });
  return Promise.race([work, ended]);
}

/** Null for a mistake of ours, and for what may pass. */
function refusalFor(error: unknown): StartRefused | null {
  const sentence = error instanceof SqlError ? sentenceFor(error.sqlState, error.message) : sentenceForUnserved(error);
  return sentence === null ? null : new StartRefused(sentence, { cause: error });
}

/** A running server waits until it is let in again; at a start it is rather the setting that is wrong. */
function sentenceForUnserved(error: unknown): string | null {
  return error instanceof AppError ? sentenceFor(String(error.facts.sqlState), String(error.facts.reason)) : null;
}

function sentenceFor(sqlState: string, message: string): string | null {
  switch (sqlState) {
    case '28P01':
    case '28000':
      return `The database does not let the user of DATABASE_URL in (${message}): correct the user or the password there.`;
    case '3D000':
      return `The database that DATABASE_URL names does not exist (${message}): create it, or correct the name.`;
    case '22P05':
      return `The database that DATABASE_URL names does not keep text as UTF8 (${message}): create it with encoding 'UTF8'.`;
    case '42501':
      return `The user of DATABASE_URL lacks a right (${message}): make it the owner of that database, or let it create and change tables there.`;
    default:
      return null;
  }
}
