/**
 * Brings the schema up to this build, forward only. It does not know where the files are: `adapters/migration-files.ts` reads them.
 *
 * All that is missing runs in one transaction under one advisory lock, so of several workers that start at once one migrates and the others
 * find the work done; a failure leaves the schema as it was.
 *
 * A migration says which older builds go on with the schema that it makes. They are still there while workers are updated one by one, some of them
 * start again meanwhile, and whoever goes back to one needs no backup.
 */
import { StartRefused } from '../../base/start-refused.ts';
import { type Sql, sql } from './sql.ts';

export interface Migration {
  readonly number: number;
  /** File name, for people. */
  readonly name: string;
  readonly text: string;
  /** The newest migration that the oldest build knows which goes on after this one; this one's own number when no older build does. */
  readonly servesFrom: number;
}

/** As it is noted. Those noted before `serves_from` was are for no older build. */
interface Applied {
  readonly number: number;
  readonly name: string;
  readonly servesFrom: number;
}

/** Any number, the same in every build. */
const LOCK = 7_285_946_112;

/**
 * Returns the names of the migrations that ran. Open `db` with long timeouts: it may wait here for another worker's migration.
 * @throws StartRefused when the schema is newer than this build and not for it, whose statements might then corrupt it.
 */
export async function migrate(db: Sql, migrations: readonly Migration[]): Promise<string[]> {
  return db.transaction(async (tx) => {
    await tx.query(sql`select pg_advisory_xact_lock(${LOCK})`);
    await tx.query(sql`create table if not exists schema_migrations (
      number integer primary key, name text not null, applied_at timestamptz not null default now())`);
    await tx.query(sql`alter table schema_migrations add column if not exists serves_from integer`);
    const applied = await tx.query(sql<Applied>`
      select number, name, coalesce(serves_from, number) as "servesFrom" from schema_migrations order by number`);
    refuseSchemaOfOthers(applied, migrations);

    const known = new Set(applied.map(({ number }) => number));
    const missing = migrations.filter(({ number }) => !known.has(number));
    for (const { number, name, text, servesFrom } of missing) {
      await tx.query({ text, values: [] });
      await tx.query(sql`insert into schema_migrations (number, name, serves_from) values (${number}, ${name}, ${servesFrom})`);
    }
    return missing.map(({ name }) => name);
  });
}

function refuseSchemaOfOthers(applied: readonly Applied[], migrations: readonly Migration[]): void {
  const newestKnown = migrations.at(-1)?.number ?? 0;
  const newer = applied.find(({ servesFrom }) => servesFrom > newestKnown);
  if (newer === undefined) return;
  throw new StartRefused(
    `The database was migrated by a newer Atrium ("${newer.name}"; this build knows migrations up to ${newestKnown}); start that version, or restore a backup.`,
  );
}
