/** The statements of snapshots. What keeps two owners, or an owner and the sweep, out of each other's way is in here, beside the clause that does it. */
import { type Query, sql } from './sql.ts';

/** A snapshot's row; exactly one of `bytes` and `blobKey` is set. */
export interface SnapshotRow {
  readonly version: number;
  readonly size: number;
  readonly sha256: Uint8Array;
  readonly bytes: Uint8Array | null;
  readonly blobKey: string | null;
}

/** The stream, and the epoch under which its owner saves. */
export interface Ruled {
  readonly stream: number;
  readonly epoch: number;
}

export function newestFirstQuery(stream: number): Query<SnapshotRow> {
  return sql<SnapshotRow>`
    select version, size, sha256, bytes, blob_key as "blobKey" from snapshots where stream = ${stream} order by version desc`;
}

/**
 * Notes the key of a blob that is about to be put, and returns it: a key of its own for every attempt, so that one that was given up never meets
 * another. No row when the snapshot would be stale already. Whoever dies after the put leaves a blob that is due after a day.
 */
export function intendQuery(
  { version, sha256 }: Pick<SnapshotRow, 'version' | 'sha256'>,
  { stream, epoch }: Ruled,
): Query<{ key: string }> {
  const name = `v1/snapshots/${stream}/${epoch}-${version}-${Buffer.from(sha256).toString('hex')}-`;
  return sql<{ key: string }>`
    insert into loose_blobs (key, due_at)
    select ${name} || gen_random_uuid(), now() + interval '1 day' from actor_owner
     where stream = ${stream} and epoch = ${epoch} and snapshot_version < ${version}
    returning key`;
}

/** No row when the epoch moved on, or a newer snapshot is there, or the blob is about to be deleted: then nothing changes. */
export function saveQuery(row: SnapshotRow, { stream, epoch }: Ruled): Query {
  return sql`
    with kept as materialized (           -- locked: the sweep waits, then finds no row; if it was first, there is none here
      select key from loose_blobs where key = ${row.blobKey} and not doomed for update
    ), pointer as (
      update actor_owner set snapshot_version = ${row.version}
       where stream = ${stream} and epoch = ${epoch} and snapshot_version < ${row.version}
         and (${row.blobKey}::text is null or exists (select from kept))
      returning stream
    ), referred as (
      delete from loose_blobs using pointer where key = ${row.blobKey}
    ), saved as (
      insert into snapshots (stream, version, epoch, size, sha256, bytes, blob_key)
      select stream, ${row.version}, ${epoch}, ${row.size}, ${row.sha256}, ${row.bytes}, ${row.blobKey} from pointer
    ), dropped as (                       -- what they referred to becomes loose, by trigger
      delete from snapshots s using pointer p
       where s.stream = p.stream
         and s.version < (select max(older.version) from snapshots older where older.stream = ${stream})  -- the one before: not this one yet
    )
    select 1 from pointer`;
}

export function sameQuery({ version, sha256 }: Pick<SnapshotRow, 'version' | 'sha256'>, stream: number): Query {
  return sql`select 1 from snapshots where stream = ${stream} and version = ${version} and sha256 = ${sha256}`;
}

export function journalBytesQuery(stream: number): Query<{ bytes: number }> {
  return sql<{ bytes: number }>`
    select coalesce(sum(octet_length(payload)), 0)::bigint as bytes from journal where stream = ${stream}`;
}
