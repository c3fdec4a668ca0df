/** Streams, entries and takeovers for tests of what lies under an actor. */
import type { JournalEntry } from '../../src/kernel/persistence/journal.ts';
import { type Query, type Sql, sql } from '../../src/kernel/persistence/sql.ts';
import { until } from './e2e/until.ts';

let made = 0;

/** A new actor, ruled by epoch 1 unless told otherwise, owned by nobody. */
export async function aStream(db: Sql, { epoch = 1 }: { epoch?: number } = {}): Promise<number> {
  const [row] = await db.query(sql<{ stream: number }>`
    with room as (insert into rooms (id) values (${`stream ${++made}`}) returning pk)
    insert into actor_owner (stream, epoch) select pk, ${epoch}::bigint from room returning stream`);
  return row!.stream;
}

/** What every claim does to the epoch. Returns the new one. */
export async function takeOver(db: Sql, stream: number): Promise<number> {
  const [row] = await db.query(
    sql<{ epoch: number }>`update actor_owner set epoch = epoch + 1 where stream = ${stream} returning epoch`,
  );
  return row!.epoch;
}

/** An entry of one change under epoch 1, with a payload that tells its version. */
export function anEntry(stream: number, version: number, rest: Partial<JournalEntry> = {}): JournalEntry {
  return { stream, version, epoch: 1, count: 1, payload: new TextEncoder().encode(`change ${version}`), ...rest };
}

/** What stands between a test and the database: sees each statement (of one that changes, as many rows as it wrote), may answer in its place or fail it before or after it ran. */
export type Meddler = (query: Query, run: () => Promise<unknown[]>) => Promise<unknown[]>;

export function meddled(db: Sql, meddler: Meddler): Sql {
  return {
    query: <Row>(query: Query<Row>) => meddler(query, () => db.query(query)) as Promise<Row[]>,
    change: async (query) => (await meddler(query, async () => Array.from({ length: await db.change(query) }))).length,
    transaction: (work) => db.transaction((tx) => work(meddled(tx, meddler))),
  };
}

/** Waits until a statement waits for a lock in this database. */
export async function untilBlocked(db: Sql): Promise<void> {
  const blocked = sql`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`;
  await until('a statement waits for a lock', async () => (await db.query(blocked)).length > 0);
}
