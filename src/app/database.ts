/** The database under everything: a private Postgres, or the one of DATABASE_URL; its schema brought up to this build. */
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../adapters/embedded-postgres.ts';
import { readMigrations } from '../adapters/migration-files.ts';
import { openPostgres } from '../adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../base/clock.ts';
import type { Log } from '../base/observe.ts';
import type { Settings } from '../config.ts';
import { migrate } from '../kernel/persistence/migrate.ts';
import type { Sql } from '../kernel/persistence/sql.ts';

export interface Database {
  readonly db: Sql;
  /** Connections of their own for leases, claims and the journal: no load of reads may keep a lease from being renewed. */
  readonly authority: Sql;
  /** Only this process can be using it: the lock on DATA_DIR proves it. */
  readonly isPrivate: boolean;
  close(): Promise<void>;
}

/** A migration may wait for another worker's, and rewrite a table. */
const MIGRATION_MS_MAX = 600_000;
/** One for the journal's batch on its way, one for the lease, one for claims and snapshots. */
const AUTHORITY_POOL_MAX = 3;

export async function openDatabase(
  { DATABASE_URL, DATABASE_POOL_MAX, DATA_DIR }: Settings,
  { log, onFatal }: { log: Log; onFatal: (reason: string) => void },
): Promise<Database> {
  let embedded: EmbeddedPostgres | null = null;
  if (DATABASE_URL === undefined) {
    embedded = await startEmbeddedPostgres({ dataDir: DATA_DIR, clock: systemClock, random: systemRandom, log, onExit: onFatal });
  }
  const url = DATABASE_URL ?? embedded!.url;
  try {
    await migrateAt(url, log);
  } catch (error) {
    await embedded?.stop();
    throw error;
  }
  const db = openPostgres({ url, poolMax: DATABASE_POOL_MAX, log });
  const authority = openPostgres({ url, poolMax: AUTHORITY_POOL_MAX, log });
  const close = async (): Promise<void> => {
    await Promise.all([db.close(), authority.close()]);
    await embedded?.stop();
  };
  return { db, authority, isPrivate: embedded !== null, close };
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
