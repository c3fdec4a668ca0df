/**
 * Snapshots: a row each in Postgres, the bytes in it when they are few, else in a blob.
 *
 * A blob is written and read back before its row, and deleted after it, so a row never points to nothing. Two snapshots of an actor are kept: when
 * the newest cannot be read, the one before it and the journal give the same state (reliability 2.c). While the store of blobs is away, journals
 * grow; from a bound on, snapshots go inline whatever their size.
 */
import type { Clock } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { Log } from '../../base/observe.ts';
import { sha256Digest } from '../../base/sha256.ts';
import type { Blobs } from './blobs.ts';
import { putAndReadBack } from './checked-put.ts';
import { GatherTime } from './gather-time.ts';
import { Gathered } from './gathered.ts';
import type { Journal } from './journal.ts';
import {
  intendQuery,
  journalBytesQuery,
  newestFirstQuery,
  type Ruled,
  type Save,
  type SnapshotRow,
  sameQuery,
  saveQuery,
  TRIM_ROWS,
  TRIM_WITH_SAVE,
  trimQuery,
} from './snapshot-queries.ts';
import type { Snapshot, SnapshotSave, Snapshots } from './snapshots.ts';
import type { Sql } from './sql.ts';

export interface SqlSnapshotsDeps {
  readonly db: Sql;
  readonly blobs: Pick<Blobs, 'put' | 'get' | 'read'>;
  readonly journal: Pick<Journal, 'readAfter'>;
  readonly clock: Clock;
  readonly log: Log;
}

/** Larger ones would make Postgres the blob store; smaller ones, most rooms, open without a second service. */
export const INLINE_BYTES_MAX = 256 * 1024;
/** A journal as long as this costs more than a large row: without blobs, the snapshot goes inline (reliability 2.c, "S3 outage"). */
export const JOURNAL_BYTES_MAX = 8 * 1024 * 1024;
/** Beyond it a statement would not end in time. */
const FALLBACK_BYTES_MAX = 128 * 1024 * 1024;

/**
 * Snapshots that nobody waits for are saved in one statement with those of so long: it costs Postgres a third, where ten come together. Those who append to
 * one of them wait for the whole, hence no more.
 */
const GATHER_MS = 100;
const SAVES_MAX = 16;
/** Each is held in memory meanwhile: without an answer from the database more of them are refused. */
const WAITING_MAX = 1_024;

type InlineRow = SnapshotRow & { readonly bytes: Uint8Array };

/** How many entries went from the journal; null when it is stale. */
type Outcome = number | null;

interface Asked<Row extends SnapshotRow> extends Save {
  readonly row: Row;
  readonly mayWait: boolean;
}

export class SqlSnapshots implements Snapshots {
  readonly #deps: SqlSnapshotsDeps;
  readonly #saves: Gathered<Save, Outcome | Promise<Outcome>>;
  /** One at a time: these are large, and their connections are those of the journal. */
  #isFallingBack = false;

  constructor(deps: SqlSnapshotsDeps) {
    this.#deps = deps;
    const { clock } = deps;
    this.#saves = new Gathered({
      itemsMax: SAVES_MAX,
      waitingMax: WAITING_MAX,
      delay: (begin) => new GatherTime({ clock, ms: GATHER_MS, begin }),
      work: (saves) => this.#saveAll(saves),
    });
  }

  async load(stream: number): Promise<Snapshot | null> {
    const stored = await this.#deps.db.query(newestFirstQuery(stream));
    const newest = stored[0];
    if (newest === undefined) return null;
    let away: unknown = null;
    for (const candidate of stored) {
      if (away !== null && candidate.blobKey !== null) continue; // the same store: it would let us wait again
      const bytes = await this.#read(stream, candidate).catch((error: unknown) => {
        away = error;
        return null;
      });
      if (bytes === null) continue;
      if (candidate !== newest) await this.#mustLeadOn(stream, { from: candidate.version, to: newest.version, away });
      return { version: candidate.version, bytes };
    }
    await this.#mustLeadOn(stream, { from: 0, to: newest.version, away });
    return null;
  }

  async save({ stream, epoch, version, bytes, mayWait = false }: SnapshotSave): Promise<'saved' | 'stale'> {
    const row = { version, size: bytes.length, sha256: sha256Digest(bytes), bytes, blobKey: null };
    const ruled = { stream, epoch };
    const saving =
      bytes.length <= INLINE_BYTES_MAX ? this.#commit({ row, ruled, mayWait }) : this.#saveLarge({ row, ruled, mayWait });
    const trimmed = await saving;
    if (trimmed === TRIM_WITH_SAVE) await this.#trimRest(stream);
    if (trimmed !== null) return 'saved';
    // The commit of an earlier attempt may have been good and only its answer lost; then this very snapshot is there.
    const [same] = await this.#deps.db.query(sameQuery(row, stream));
    return same === undefined ? 'stale' : 'saved';
  }

  async #commit({ mayWait, ...save }: Asked<SnapshotRow>): Promise<Outcome> {
    const saving = this.#saves.ask(save);
    if (!mayWait) this.#saves.hurry();
    return saving;
  }

  /** Whoever is not saved may only have been locked, and is tried by itself: nobody waits for that one here. */
  async #saveAll(saves: readonly Save[]): Promise<(Outcome | Promise<Outcome>)[]> {
    const saved = await this.#deps.db.query(saveQuery(saves, 'leave'));
    const trimmed = new Map(saved.map((one) => [one.place, one.trimmed]));
    return saves.map((save, at) => trimmed.get(at + 1) ?? this.#saveAlone(save));
  }

  async #saveAlone(save: Save): Promise<Outcome> {
    const [saved] = await this.#deps.db.query(saveQuery([save], 'wait'));
    return saved?.trimmed ?? null;
  }

  /** The snapshot is there; what cannot be trimmed now, the next one finds. */
  async #trimRest(stream: number): Promise<void> {
    try {
      while ((await this.#deps.db.change(trimQuery(stream))) === TRIM_ROWS);
    } catch (error) {
      this.#deps.log.warn({ err: error, stream }, 'journal not trimmed');
    }
  }

  async #saveLarge({ row, ruled, mayWait }: Asked<InlineRow>): Promise<Outcome> {
    const [intended] = await this.#deps.db.query(intendQuery(row, ruled));
    if (intended === undefined) return null;
    try {
      await putAndReadBack({ key: intended.key, bytes: row.bytes, sha256: row.sha256 }, this.#deps);
    } catch (error) {
      return this.#saveWithoutBlob(row, ruled, error);
    }
    return this.#commit({ row: { ...row, bytes: null, blobKey: intended.key }, ruled, mayWait });
  }

  /** @throws `cause` while the journal is short: it covers the gap. */
  async #saveWithoutBlob(row: InlineRow, ruled: Ruled, cause: unknown): Promise<Outcome> {
    if (this.#isFallingBack || row.size > FALLBACK_BYTES_MAX) throw cause;
    this.#isFallingBack = true;
    try {
      const [journal] = await this.#deps.db.query(journalBytesQuery(ruled.stream));
      const journalBytes = journal?.bytes ?? 0;
      if (journalBytes < JOURNAL_BYTES_MAX) throw cause;
      this.#deps.log.warn({ ...ruled, size: row.size, journalBytes, err: cause }, 'snapshot goes inline, no blob can be stored');
      return await this.#saveAlone({ row, ruled });
    } finally {
      this.#isFallingBack = false;
    }
  }

  /** Null, and a line in the log, when the bytes are missing or are not those that were saved. Rejects when the store is away. */
  async #read(stream: number, { version, size, sha256, bytes, blobKey }: SnapshotRow): Promise<Uint8Array | null> {
    const found = bytes ?? (blobKey === null ? null : await this.#deps.blobs.get(blobKey));
    if (found !== null && found.length === size && Buffer.compare(sha256Digest(found), sha256) === 0) return found;
    this.#deps.log.error({ stream, version, size, foundSize: found?.length ?? null, blobKey }, 'snapshot damaged');
    return null;
  }

  /**
   * An older snapshot, or none, may stand in only if the journal still holds all that the newest had.
   * @throws `away`, why the newest was not read, when that may change; AppError ROOM_UNREADABLE when it is damaged.
   */
  async #mustLeadOn(stream: number, { from, to, away }: { from: number; to: number; away: unknown }): Promise<void> {
    const reached = await this.#deps.journal.readAfter(stream, from).then(
      (entries) => entries.at(-1)?.version ?? from,
      (error: unknown) => {
        throw away ?? error;
      },
    );
    if (reached >= to) return;
    throw (
      away ??
      new AppError('ROOM_UNREADABLE', {
        reason: `its snapshot of version ${to} is damaged and the journal does not reach it from version ${from}`,
      })
    );
  }
}
