/** The statements of snapshots. What keeps two owners, or an owner and the sweep, out of each other's way is in here, beside the clause that does it. */
import { concat } from '../../base/binary.ts';
import { named, type Query, sql } from './sql.ts';

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

/** A snapshot to be saved under its owner's epoch. */
export interface Save {
  readonly row: SnapshotRow;
  readonly ruled: Ruled;
}

export interface Saved {
  /** Which of them it is, from 1. */
  readonly place: number;
  /** Entries of the journal that went with it. */
  readonly trimmed: number;
}

/** As many entries of each journal go with a save: those who append to it wait meanwhile. */
export const TRIM_WITH_SAVE = 1_000;

/**
 * Saves these, each as the function says in `migrations/0014-save-snapshots.sql`: no row for one that is stale, or whose blob is about to be deleted, or,
 * if `locked` are to be left, whose room somebody has locked.
 */
export function saveQuery(saves: readonly Save[], locked: 'wait' | 'leave'): Query<Saved> {
  const column = <Value>(pick: (save: Save) => Value): Value[] => saves.map(pick);
  let end = 1; // SQL counts bytes from 1
  const starts = column(({ row }) => {
    const start = end;
    end += row.bytes?.length ?? 0;
    return start;
  });
  const query = sql<Saved>`
    select place, trimmed from save_snapshots(
      ${column(({ ruled }) => ruled.stream)}, ${column(({ ruled }) => ruled.epoch)}, ${column(({ row }) => row.version)},
      ${column(({ row }) => row.size)}, ${column(({ row }) => row.blobKey)}, ${concat(column(({ row }) => row.sha256))},
      ${concat(column(({ row }) => row.bytes ?? NO_BYTES))}, ${starts}, ${TRIM_WITH_SAVE}, ${locked === 'wait'})`;
  return named('snapshots.save', query);
}

const NO_BYTES = new Uint8Array();

/** What is left of a long journal after a save, `TRIM_ROWS` at a time. */
export const TRIM_ROWS = 5_000;

export function trimQuery(stream: number): Query {
  return sql`
    delete from journal
     where stream = ${stream} and version in (
       select j.version from journal j
        where j.stream = ${stream} and j.version > (select trimmed_version from actor_owner where stream = ${stream})
          and j.version <= (select s.version from snapshots s where s.stream = ${stream} order by s.version desc offset 1 limit 1)
        order by j.version limit ${TRIM_ROWS})`;
}

export function sameQuery({ version, sha256 }: Pick<SnapshotRow, 'version' | 'sha256'>, stream: number): Query {
  return sql`select 1 from snapshots where stream = ${stream} and version = ${version} and sha256 = ${sha256}`;
}

export function journalBytesQuery(stream: number): Query<{ bytes: number }> {
  return sql<{ bytes: number }>`
    select coalesce(sum(octet_length(payload)), 0)::bigint as bytes from journal where stream = ${stream}`;
}
