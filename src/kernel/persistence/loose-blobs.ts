/**
 * Blobs on their way into the database: a key is noted as loose before the store hears of it, and taken out by the statement that first refers to
 * it (0003-blobs.sql). It does not know what refers to blobs.
 */
import { type Query, type Sql, sql } from './sql.ts';

/** Notes the key of one attempt to put a blob, due in a day: what nothing refers to by then is thrown away. */
export async function noteBlob(db: Sql, key: string): Promise<void> {
  await db.query(sql`insert into loose_blobs (key, due_at) values (${key}, now() + interval '1 day')`);
}

/** Nothing will come of the attempt: what there is of the blob goes with the next sweep. No harm to a key that something refers to. */
export async function dropBlob(db: Sql, key: string): Promise<void> {
  await db.query(sql`update loose_blobs set due_at = now() where key = ${key}`);
}

/**
 * For a statement that makes a row refer to the key: its one row, `key`, is there while no sweep has taken it, and locked, so that a sweep waits
 * and then finds none. The statement must also delete it from `loose_blobs`.
 */
export function keptBlobQuery(key: string): Query {
  return sql`select key from loose_blobs where key = ${key} and not doomed for update`;
}
