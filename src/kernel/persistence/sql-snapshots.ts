/**
 * Snapshots: a row each in Postgres, the bytes in it when they are few, else in a blob.
 *
 * A blob is written before its row and deleted after it, so a row never points to nothing. Two snapshots of an actor are kept: when the newest cannot
 * be read, the one before it and the journal give the same state (reliability 2.c).
 */
import { createHash } from 'node:crypto';
import { AppError } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import type { Blobs } from './blobs.ts';
import type { Journal } from './journal.ts';
import type { Snapshot, SnapshotSave, Snapshots } from './snapshots.ts';
import { type Query, type Sql, sql } from './sql.ts';

export interface SqlSnapshotsDeps {
  readonly db: Sql;
  readonly blobs: Blobs;
  readonly journal: Pick<Journal, 'readAfter'>;
  readonly log: Log;
}

/** Larger ones would make Postgres the blob store; smaller ones, most rooms, open without a second service. */
export const INLINE_BYTES_MAX = 256 * 1024;

/** A snapshot's row; exactly one of `bytes` and `blobKey` is set. */
interface Stored {
  readonly version: number;
  readonly size: number;
  readonly sha256: Uint8Array;
  readonly bytes: Uint8Array | null;
  readonly blobKey: string | null;
}

export class SqlSnapshots implements Snapshots {
  readonly #deps: SqlSnapshotsDeps;

  constructor(deps: SqlSnapshotsDeps) {
    this.#deps = deps;
  }

  async load(stream: number): Promise<Snapshot | null> {
    const stored = await this.#deps.db.query(newestFirstQuery(stream));
    const newest = stored[0];
    if (newest === undefined) return null;
    for (const candidate of stored) {
      const bytes = await this.#read(stream, candidate);
      if (bytes === null) continue;
      if (candidate !== newest) await this.#mustLeadOn(stream, { from: candidate.version, to: newest.version });
      return { version: candidate.version, bytes };
    }
    await this.#mustLeadOn(stream, { from: 0, to: newest.version });
    return null;
  }

  async save({ stream, epoch, version, bytes }: SnapshotSave): Promise<'saved' | 'stale'> {
    const sha256 = digest(bytes);
    const isInline = bytes.length <= INLINE_BYTES_MAX;
    const blobKey = isInline ? null : `v1/snapshots/${stream}/${epoch}-${version}-${Buffer.from(sha256).toString('hex')}`;
    if (blobKey !== null) await this.#deps.blobs.put(blobKey, bytes);

    const row = { version, size: bytes.length, sha256, bytes: isInline ? bytes : null, blobKey };
    const [outcome] = await this.#deps.db.query(saveQuery(row, { stream, epoch }));
    if (outcome !== undefined) {
      await this.#drop(outcome.droppedKeys);
      return 'saved';
    }
    // The commit of an earlier attempt may have been good and only its answer lost; then this very blob is in use.
    const [same] = await this.#deps.db.query(
      sql`select 1 from snapshots where stream = ${stream} and version = ${version} and sha256 = ${sha256}`,
    );
    if (same !== undefined) return 'saved';
    if (blobKey !== null) await this.#drop([blobKey]);
    return 'stale';
  }

  /** A blob that stays behind costs space, nothing else. */
  async #drop(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      await this.#deps.blobs
        .delete(key)
        .catch((error: unknown) => this.#deps.log.warn({ err: error, blobKey: key }, 'unused snapshot not deleted'));
    }
  }

  /** Null, and a line in the log, when the bytes are missing or are not those that were saved. */
  async #read(stream: number, { version, size, sha256, bytes, blobKey }: Stored): Promise<Uint8Array | null> {
    const found = bytes ?? (blobKey === null ? null : await this.#deps.blobs.get(blobKey));
    if (found !== null && found.length === size && Buffer.compare(digest(found), sha256) === 0) return found;
    this.#deps.log.error({ stream, version, size, foundSize: found?.length ?? null, blobKey }, 'snapshot damaged');
    return null;
  }

  /** An older snapshot, or none, may stand in only if the journal still holds all that the newest had. */
  async #mustLeadOn(stream: number, { from, to }: { from: number; to: number }): Promise<void> {
    const entries = await this.#deps.journal.readAfter(stream, from);
    if ((entries.at(-1)?.version ?? from) >= to) return;
    throw new AppError('ROOM_UNREADABLE', {
      reason: `its snapshot of version ${to} is damaged and the journal does not reach it from version ${from}`,
    });
  }
}

function digest(bytes: Uint8Array): Uint8Array {
  return createHash('sha256').update(bytes).digest();
}

function newestFirstQuery(stream: number): Query<Stored> {
  return sql<Stored>`
    select version, size, sha256, bytes, blob_key as "blobKey" from snapshots where stream = ${stream} order by version desc`;
}

/** No row when the epoch moved on or a newer snapshot is there: then nothing changes. `droppedKeys` are blobs nobody points to any more. */
function saveQuery(row: Stored, { stream, epoch }: { stream: number; epoch: number }): Query<{ droppedKeys: string[] }> {
  return sql<{ droppedKeys: string[] }>`
    with pointer as (
      update actor_owner set snapshot_version = ${row.version}
       where stream = ${stream} and epoch = ${epoch} and snapshot_version < ${row.version}
      returning stream
    ), saved as (
      insert into snapshots (stream, version, epoch, size, sha256, bytes, blob_key)
      select stream, ${row.version}, ${epoch}, ${row.size}, ${row.sha256}, ${row.bytes}, ${row.blobKey} from pointer
    ), dropped as (
      delete from snapshots s using pointer p
       where s.stream = p.stream
         and s.version < (select max(older.version) from snapshots older where older.stream = ${stream})  -- the one before: not this one yet
      returning s.blob_key
    )
    select coalesce((select array_agg(blob_key) filter (where blob_key is not null) from dropped), '{}') as "droppedKeys" from pointer`;
}
