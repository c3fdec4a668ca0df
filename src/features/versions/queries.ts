/**
 * Versions of rooms' histories in the database, their bodies there when they are small, else in blobs.
 *
 * A blob is written and read back before its row, and deleted after it, so a row never points to nothing. What keeps an owner that was taken
 * over, a deletion of the room, and the sweep of blobs from slipping in between stands in the statements.
 */
import { isoFromMs } from '../../base/clock.ts';
import { AppError } from '../../base/errors.ts';
import type { RoomPk } from '../../base/ids.ts';
import type { Log } from '../../base/observe.ts';
import { sha256Digest } from '../../base/sha256.ts';
import { Turns } from '../../base/turns.ts';
import type { Blobs } from '../../kernel/persistence/blobs.ts';
import { putAndReadBack } from '../../kernel/persistence/checked-put.ts';
import { type Query, type Sql, sql } from '../../kernel/persistence/sql.ts';
import { INLINE_BYTES_MAX } from '../../kernel/persistence/sql-snapshots.ts';
import type { Position } from '../../protocol/paging.ts';
import type { KeptVersion } from '../../room/history-keeper.ts';
import { noVersion } from './rules.ts';

export interface VersionStore {
  readonly db: Sql;
  readonly blobs: Pick<Blobs, 'put' | 'read' | 'get'>;
  readonly log: Log;
}

/** Versions that are loaded at once; who comes later waits, with little. */
const LOADED_AT_ONCE_MAX = 4;
const KNOWN_MAX = 1_000;

/** Versions that the SDK in a browser is shown; it knows no pages. */
export const LISTED_MAX = 1_000;

interface Body {
  readonly size: number;
  readonly sha256: Uint8Array;
  /** Exactly one of the two is set. */
  readonly bytes: Uint8Array | null;
  readonly blobKey: string | null;
}

/** Keeps a version as `KeepVersion` of the room promises. */
export async function keepVersion(version: KeptVersion, { db, ...store }: VersionStore): Promise<'kept' | 'found' | 'fenced'> {
  const { body: bytes } = version;
  const body = { size: bytes.length, sha256: sha256Digest(bytes), bytes, blobKey: null };
  if (bytes.length <= INLINE_BYTES_MAX) return outcomeOf(await db.query(keepQuery(version, body)));
  const [intended] = await db.query(intendQuery(version, body));
  if (intended === undefined) return 'fenced';
  await putAndReadBack({ key: intended.key, bytes, sha256: body.sha256 }, store);
  return outcomeOf(await db.query(keepQuery(version, { ...body, bytes: null, blobKey: intended.key })));
}

function outcomeOf([row]: readonly { isNew: boolean }[]): 'kept' | 'found' | 'fenced' {
  if (row === undefined) return 'fenced';
  return row.isNew ? 'kept' : 'found';
}

/** Notes the key of a blob that is about to be put; one that nothing comes to refer to is due after a day. No row under another epoch. */
function intendQuery({ stream, epoch, id }: KeptVersion, { sha256 }: Body): Query<{ key: string }> {
  const name = `v1/versions/${stream}/${id}-${Buffer.from(sha256).toString('hex')}-`;
  return sql<{ key: string }>`
    insert into loose_blobs (key, due_at)
    select ${name} || gen_random_uuid(), now() + interval '1 day' from actor_owner
     where stream = ${stream} and epoch = ${epoch}
    returning key`;
}

/** No row when the epoch moved on, or the blob is about to be deleted. One of this id that is there stays, and the new blob stays loose. */
function keepQuery(
  { stream, epoch, id, atMs, authors }: KeptVersion,
  { size, sha256, bytes, blobKey }: Body,
): Query<{ isNew: boolean }> {
  return sql<{ isNew: boolean }>`
    with kept as materialized (           -- locked: the sweep waits, then finds no row; if it was first, there is none here
      select key from loose_blobs where key = ${blobKey} and not doomed for update
    ), owner as materialized (            -- a claim waits, and so does a deletion of the room
      select stream from actor_owner
       where stream = ${stream} and epoch = ${epoch} and (${blobKey}::text is null or exists (select from kept)) for share
    ), made as (
      insert into versions (room_pk, id, created_at, authors, size, sha256, bytes, blob_key)
      select stream, ${id}, ${isoFromMs(atMs)}, ${JSON.stringify(authors)}::jsonb, ${size}, ${sha256}, ${bytes}, ${blobKey} from owner
      on conflict (room_pk, id) do nothing
      returning pk
    ), referred as (
      delete from loose_blobs using made where key = ${blobKey}
    )
    select exists (select from made) as "isNew" from owner`;
}

/** A row of `versions`, without its body; times are ISO strings. */
export interface VersionRow {
  readonly pk: number;
  readonly id: string;
  readonly createdAt: string;
  readonly authors: readonly string[];
}

const COLUMNS = sql`pk, id, created_at as "createdAt", authors`;

/** Up to `limit` versions, newest first, from just after `after`. */
export async function listVersions(
  db: Sql,
  { roomPk, after, limit }: { roomPk: RoomPk; after: Position | null; limit: number },
): Promise<VersionRow[]> {
  const from = after === null ? sql`true` : sql`(created_at, pk) < (${isoFromMs(after.atMs)}::timestamptz, ${after.pk}::bigint)`;
  return db.query(sql<VersionRow>`
    select ${COLUMNS} from versions where room_pk = ${roomPk} and ${from} order by created_at desc, pk desc limit ${limit}`);
}

/** The newest versions stored since then. */
export async function listVersionsSince(
  db: Sql,
  { roomPk, sinceMs }: { roomPk: RoomPk; sinceMs: number },
): Promise<VersionRow[]> {
  return db.query(sql<VersionRow>`
    select ${COLUMNS} from versions
     where room_pk = ${roomPk} and stored_at >= ${isoFromMs(sinceMs)}::timestamptz
     order by created_at desc, pk desc limit ${LISTED_MAX}`);
}

/** False when there is none of this id. */
export async function deleteVersion(db: Sql, { roomPk, id }: { roomPk: RoomPk; id: string }): Promise<boolean> {
  return (await db.change(sql`delete from versions where room_pk = ${roomPk} and id = ${id}`)) > 0;
}

/** Versions that are being read: whoever reads one has the bytes of those who read it already, for as long as these are in memory. */
export class VersionReads {
  /** By the row's number. */
  readonly #known = new Map<
    number,
    { readonly memory: WeakRef<ArrayBufferLike>; readonly at: number; readonly length: number }
  >();
  readonly #loading = new Map<number, Promise<Uint8Array>>();
  readonly #turns = new Turns(LOADED_AT_ONCE_MAX);

  async bytesOf(pk: number, load: () => Promise<Uint8Array>): Promise<Uint8Array> {
    const known = this.#known.get(pk);
    const memory = known?.memory.deref();
    if (memory !== undefined) return new Uint8Array(memory, known!.at, known!.length);
    const loading = this.#loading.get(pk) ?? this.#turns.take(load).finally(() => this.#loading.delete(pk));
    this.#loading.set(pk, loading);
    const { buffer, byteOffset: at, length } = await loading;
    if (this.#known.size >= KNOWN_MAX) this.#forgetThoseGone();
    this.#known.set(pk, { memory: new WeakRef(buffer), at, length });
    return new Uint8Array(buffer, at, length);
  }

  #forgetThoseGone(): void {
    for (const [pk, { memory }] of this.#known) if (memory.deref() === undefined) this.#known.delete(pk);
  }
}

/** The body of a version. @throws AppError RESOURCE_NOT_FOUND; BLOBS_UNAVAILABLE; ROOM_UNREADABLE when it is missing or is not what was kept. */
export async function readVersion(
  { reads, ...store }: VersionStore & { readonly reads: VersionReads },
  { roomPk, id }: { roomPk: RoomPk; id: string },
): Promise<Uint8Array> {
  const [version] = await store.db.query(sql<{ pk: number }>`select pk from versions where room_pk = ${roomPk} and id = ${id}`);
  if (version === undefined) throw noVersion(id);
  return reads.bytesOf(version.pk, () => loadVersion(store, { roomPk, id }));
}

async function loadVersion(
  { db, blobs, log }: VersionStore,
  { roomPk, id }: { roomPk: RoomPk; id: string },
): Promise<Uint8Array> {
  const find = (): Promise<Body[]> =>
    db.query(sql<Body>`
      select size, sha256, bytes, blob_key as "blobKey" from versions where room_pk = ${roomPk} and id = ${id}`);
  const [stored] = await find();
  if (stored === undefined) throw noVersion(id);
  const { size, sha256, bytes, blobKey } = stored;
  const found = bytes ?? (blobKey === null ? null : await blobs.get(blobKey));
  if (found !== null && found.length === size && Buffer.compare(sha256Digest(found), sha256) === 0) return found;
  if ((await find()).length === 0) throw noVersion(id); // deleted meanwhile
  log.error({ roomPk, id, size, foundSize: found?.length ?? null, blobKey }, 'version damaged');
  throw new AppError('ROOM_UNREADABLE', { reason: `its version ${id} is damaged` });
}
