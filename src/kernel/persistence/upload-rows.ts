/**
 * Rows that refer to an uploaded blob. Their tables have the columns id, name, size, mime_type, blob_key, upload_id and parts. It does not know
 * which tables these are, nor what else their rows say.
 */
import { keptBlobQuery } from './loose-blobs.ts';
import { type Query, sql } from './sql.ts';

/** What such a row says of its blob. */
export interface UploadedBlob {
  readonly id: string;
  readonly name: string;
  /** In bytes. */
  readonly size: number;
  readonly mimeType: string;
  readonly blobKey: string;
}

/** How a blob came in parts; null for one that came whole. */
export interface FromParts {
  readonly uploadId: string;
  readonly digest: string;
}

/** The columns of `UploadedBlob`, of a table or row that is called `f`. */
export const BLOB_COLUMNS = sql`f.id, f.name, f.size, f.mime_type as "mimeType", f.blob_key as "blobKey"`;

/** A row to be made; the parts of text stand in the statement as they are. */
export interface NewBlobRow {
  readonly table: Query;
  /** Locks what the row belongs to, and has one row while that is there. */
  readonly owner: Query;
  /** What the row says beyond the blob, and the values, which may name `owner`. */
  readonly more: { readonly columns: Query; readonly values: Query };
  /** What is returned of it, called `f`. */
  readonly returning: Query;
  readonly blob: UploadedBlob;
  readonly from: FromParts | null;
}

/**
 * Makes the row of a blob that is there, and ends the upload it came by. No row is made when there is one of this id already, when the owner is
 * gone, or when the blob is being thrown away.
 */
export function makeBlobRowQuery<Row>({ table, owner, more, returning, blob, from }: NewBlobRow): Query<Row> {
  return sql<Row>`
    with kept as materialized (${keptBlobQuery(blob.blobKey)}
    ), owner as materialized (${owner}
    ), made as (
      insert into ${table} (${more.columns}, id, name, size, mime_type, blob_key, upload_id, parts)
      select ${more.values}, ${blob.id}, ${blob.name}, ${blob.size}, ${blob.mimeType}, kept.key, ${from?.uploadId ?? null}, ${from?.digest ?? null}
        from owner, kept
      on conflict do nothing
      returning *
    ), referred as (
      delete from loose_blobs using made where key = made.blob_key
    ), ended as (
      delete from uploads where id = ${from?.uploadId ?? null}
    )
    select ${returning} from made f`;
}
