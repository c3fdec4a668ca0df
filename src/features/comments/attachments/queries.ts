/**
 * Attachments in the database: drafts of whoever uploaded them until a comment shows them. Their bytes are in the store of blobs, each in one of its
 * own, which goes with the row.
 */
import { AppError, valueAtKey } from '../../../base/errors.ts';
import type { RoomId, RoomPk } from '../../../base/ids.ts';
import { type Sql, sql } from '../../../kernel/persistence/sql.ts';
import { BLOB_COLUMNS, type FromParts, makeBlobRowQuery, type UploadedBlob } from '../../../kernel/persistence/upload-rows.ts';
import type { Attachment, Visibility } from '../../../protocol/comments.ts';
import { isAttachmentId } from './rules.ts';

/** A row of `attachments`. */
export interface StoredAttachment extends UploadedBlob {
  /** Who uploaded it. */
  readonly userId: string;
}

const COLUMNS = sql`${BLOB_COLUMNS}, f.user_id as "userId"`;

export function attachmentOf({ id, name, size, mimeType }: Omit<UploadedBlob, 'blobKey'>): Attachment {
  return { type: 'attachment', id, name, size, mimeType };
}

interface AttachmentPlace {
  readonly roomId: RoomId;
  readonly attachmentId: string;
}

/** The room, and its attachment of this id if it has one. @throws AppError ROOM_NOT_FOUND */
export async function findAttachment(
  db: Sql,
  { roomId, attachmentId }: AttachmentPlace,
): Promise<{ readonly roomPk: RoomPk; readonly attachment: StoredAttachment | null }> {
  const [row] = await db.query(sql<{ roomPk: RoomPk } & Omit<StoredAttachment, 'id'> & { id: string | null }>`
    select r.pk as "roomPk", ${COLUMNS}
      from rooms r left join attachments f on f.room_pk = r.pk and f.id = ${attachmentId}
     where r.id = ${roomId}`);
  if (row === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
  const { roomPk, id, ...rest } = row;
  return { roomPk, attachment: id === null ? null : { id, ...rest } };
}

/** As `makeBlobRowQuery` says; null when no attachment was made. */
export async function makeAttachment(
  db: Sql,
  { roomPk, userId, blob, from }: { roomPk: RoomPk; userId: string; blob: UploadedBlob; from: FromParts | null },
): Promise<StoredAttachment | null> {
  const [made] = await db.query(
    makeBlobRowQuery<StoredAttachment>({
      table: sql`attachments`,
      owner: sql`select pk from rooms where pk = ${roomPk} for key share`,
      more: { columns: sql`room_pk, user_id`, values: sql`owner.pk, ${userId}` },
      returning: COLUMNS,
      blob,
      from,
    }),
  );
  return made ?? null;
}

/** The attachment that these parts of this upload became. */
export async function findCompleted(
  db: Sql,
  { roomPk, attachmentId, uploadId, digest }: FromParts & { readonly roomPk: RoomPk; readonly attachmentId: string },
): Promise<StoredAttachment | null> {
  const [attachment] = await db.query(sql<StoredAttachment>`
    select ${COLUMNS} from attachments f
     where f.room_pk = ${roomPk} and f.id = ${attachmentId} and f.upload_id = ${uploadId} and f.parts = ${digest}`);
  return attachment ?? null;
}

interface Attaching {
  readonly roomPk: number;
  readonly commentPk: number;
  /** Of the comment: nobody shows what another has uploaded. */
  readonly userId: string;
  /** All that the comment is to show from now on, in this order; one that is named twice is shown once. */
  readonly ids: readonly string[];
}

/** What an attachment takes in an answer, roughly. */
const BYTES = sql`octet_length(name) + octet_length(mime_type) + 120`;

/**
 * Makes the comment show these attachments and no others; what it showed before and is not among them is gone for good. To be called in the
 * transaction that writes the comment. Returns by how many bytes the comment has grown.
 * @throws AppError UNPROCESSABLE_ENTITY naming attachmentIds when one is unknown, another user's, or shown by another comment
 */
export async function attach(tx: Sql, { roomPk, commentPk, userId, ids }: Attaching): Promise<number> {
  const wanted = [...new Set(ids)];
  const known = wanted.filter(isAttachmentId);
  const [before] = await tx.query(sql<{ bytes: number }>`
    with gone as (delete from attachments where comment_pk = ${commentPk} and not (id = any(${known}::text[])))
    select coalesce(sum(${BYTES}), 0)::integer as bytes from attachments where comment_pk = ${commentPk}`); // those that go are still seen here
  if (wanted.length === 0) return -before!.bytes;
  const shown = await tx.query(sql<{ id: string; bytes: number }>`
    update attachments a set comment_pk = ${commentPk}, place = wanted.place
      from unnest(${known}::text[]) with ordinality as wanted (id, place)
     where a.room_pk = ${roomPk} and a.id = wanted.id and a.user_id = ${userId}
       and (a.comment_pk is null or a.comment_pk = ${commentPk})
    returning a.id, ${BYTES} as bytes`);
  const missing = wanted.find((id) => !shown.some((row) => row.id === id));
  if (missing !== undefined)
    throw valueAtKey(
      'attachmentIds',
      `names ${JSON.stringify(missing)}, which is no attachment of this user that is free to be shown`,
    );
  return shown.reduce((sum, { bytes }) => sum + bytes, -before!.bytes);
}

interface Readable {
  readonly roomId: RoomId;
  readonly attachmentIds: readonly string[];
  /** Drafts of this user are readable too; null is nobody. */
  readonly userId: string | null;
  readonly visibilities: readonly Visibility[];
}

/** Those of the attachments that a reader of such threads may see, by id. @throws AppError ROOM_NOT_FOUND */
export async function findReadable(
  db: Sql,
  { roomId, attachmentIds, userId, visibilities }: Readable,
): Promise<ReadonlyMap<string, StoredAttachment>> {
  const rows = await db.query(sql<Omit<StoredAttachment, 'id'> & { id: string | null }>`
    select f.* from rooms r left join lateral (
      select ${COLUMNS}
        from attachments f left join comments c on c.pk = f.comment_pk left join threads t on t.pk = c.thread_pk
       where f.room_pk = r.pk and f.id = any(${attachmentIds}::text[])
         and (t.visibility = any(${visibilities}::text[]) or (f.comment_pk is null and f.user_id = ${userId}::text))) f on true
     where r.id = ${roomId}`);
  if (rows.length === 0) throw new AppError('ROOM_NOT_FOUND', { roomId });
  return new Map(rows.flatMap(({ id, ...rest }) => (id === null ? [] : [[id, { id, ...rest }]])));
}

/** Deletes some drafts that no comment has shown within a day, or came back to. Returns how many. */
export function deleteOldDrafts(db: Sql, limit: number): Promise<number> {
  return db.change(sql`
    delete from attachments where ctid = any(array(
      select ctid from attachments where comment_pk is null and created_at < now() - interval '1 day'
       order by created_at limit ${limit} for update skip locked))`);
}
