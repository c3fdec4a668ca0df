/** The statements of uploads in parts. What keeps parts, completions, and the sweep out of each other's way is in here, beside the clause that does it. */
import type { JsonObject } from '../../base/json.ts';
import { soughtId } from '../../base/text.ts';
import { type Query, sql } from './sql.ts';

/** Which upload is meant; a client may have named it. */
export interface UploadPlace {
  readonly stream: number;
  readonly subject: string;
  readonly id: string;
  /** Who asks, where uploads belong to somebody: one that was begun by another is then not there. */
  readonly by?: string | null;
}

export interface UploadRow {
  /** What the blob will be; kept for the caller. */
  readonly about: JsonObject;
  /** Of the blob, as announced. */
  readonly size: number | null;
  readonly blobKey: string;
  readonly storeUploadId: string;
}

/** An upload to which nothing was added for so long is given up (supplement 1.6). */
const IDLE = sql`interval '24 hours'`;
/** Each may hold twice as many bytes as a blob. */
const OPEN_PER_STREAM_MAX = 1_000;
const COLUMNS = sql`u.about, u.size, u.blob_key as "blobKey", u.store_upload_id as "storeUploadId"`;

/** No row when the stream has as many as it may, or is gone. */
export function beginQuery({ stream, subject, id, by }: UploadPlace, { about, size, blobKey, storeUploadId }: UploadRow): Query {
  return sql`
    insert into uploads (id, stream, subject, about, size, blob_key, store_upload_id, due_at)
    select ${id}, stream, ${subject}, ${JSON.stringify(by == null ? about : { ...about, by })}::jsonb, ${size}, ${blobKey}, ${storeUploadId}, now() + ${IDLE}
      from actor_owner where stream = ${stream} and (select count(*) from uploads where stream = ${stream}) < ${OPEN_PER_STREAM_MAX}
    returning id`;
}

function isOpen({ stream, subject, id, by = null }: UploadPlace): Query {
  return sql`u.id = ${id} and u.stream = ${stream} and u.subject = ${subject} and not u.doomed
    and (${by}::text is null or coalesce(u.about ->> 'by', ${by}::text) = ${by}::text)`;
}

export function openQuery(place: UploadPlace): Query {
  return sql`select 1 from uploads u where ${isOpen(place)}`;
}

/** One row when the upload is open for another stream. */
export function elsewhereQuery({ stream, id }: UploadPlace): Query {
  return sql`select 1 from uploads where id = ${soughtId(id)} and stream <> ${stream} and not doomed`;
}

/** Lets a part in. No row when the upload is not open, or more would have come than may. */
export function admitQuery(
  place: UploadPlace,
  { bytes, cameBytesMax }: { bytes: number; cameBytesMax: number },
): Query<UploadRow> {
  return sql<UploadRow>`
    update uploads u set came_bytes = u.came_bytes + ${bytes}, due_at = now() + ${IDLE}
     where ${isOpen(place)} and u.came_bytes + ${bytes} <= ${cameBytesMax}
    returning ${COLUMNS}`;
}

/** Of what was let in, so much did not come. */
export function returnBytesQuery(id: string, bytes: number): Query {
  return sql`update uploads set came_bytes = came_bytes - ${bytes} where id = ${id}`;
}

/**
 * For who is about to make the blob: its key is noted as loose. The lock on the upload's row keeps out a key that something refers to already:
 * whoever made that row refer to it deleted this one.
 */
export function noteQuery(place: UploadPlace): Query<UploadRow> {
  return sql<UploadRow>`
    with upload as (
      update uploads u set due_at = now() + ${IDLE} where ${isOpen(place)} returning *
    ), noted as (
      insert into loose_blobs (key, due_at) select blob_key, now() + interval '1 day' from upload
      on conflict (key) do update set due_at = excluded.due_at where not loose_blobs.doomed
    )
    select ${COLUMNS} from upload u`;
}

/** Gives the upload up; the sweep throws its parts away. */
export function abandonQuery(place: UploadPlace): Query {
  return sql`update uploads u set doomed = true, due_at = now() where ${isOpen(place)} returning u.id`;
}

/** An upload whose parts are to be thrown away. */
export interface DoomedUpload {
  readonly id: string;
  readonly key: string;
  readonly uploadId: string;
}

/** Some that were given up, that nobody went on with, or whose stream is gone. Two that ask take different ones; each comes again in ten minutes. */
export function doomQuery(limit: number): Query<DoomedUpload> {
  return sql<DoomedUpload>`
    update uploads set doomed = true, due_at = now() + interval '10 minutes'
     where id in (select id from uploads where due_at <= now() or (stream is null and not doomed)
                   order by due_at limit ${limit} for update skip locked)
    returning id, blob_key as key, store_upload_id as "uploadId"`;
}

export function forgetQuery(ids: readonly string[]): Query {
  return sql`delete from uploads where id = any(${ids}::text[])`;
}
