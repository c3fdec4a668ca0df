/** The files of rooms in the database. Their bytes are in the store of blobs; which of its blobs are files is said here alone. */
import { AppError } from '../../base/errors.ts';
import type { RoomId, RoomPk } from '../../base/ids.ts';
import { type Sql, sql } from '../../kernel/persistence/sql.ts';
import { BLOB_COLUMNS, type FromParts, makeBlobRowQuery, type UploadedBlob } from '../../kernel/persistence/upload-rows.ts';
import type { FileData } from '../../protocol/storage-ops.ts';

/** A row of `files`. */
export type StoredFile = UploadedBlob;

export function fileDataOf({ id, name, size, mimeType }: FileData): FileData {
  return { id, name, size, mimeType };
}

interface FilePlace {
  readonly roomId: RoomId;
  readonly fileId: string;
}

/** The room, and its file of this id if it has one. @throws AppError ROOM_NOT_FOUND */
export async function findFile(
  db: Sql,
  { roomId, fileId }: FilePlace,
): Promise<{ readonly roomPk: RoomPk; readonly file: StoredFile | null }> {
  const [row] = await db.query(sql<{ roomPk: RoomPk } & Omit<StoredFile, 'id'> & { id: string | null }>`
    select r.pk as "roomPk", ${BLOB_COLUMNS}
      from rooms r left join files f on f.room_pk = r.pk and f.id = ${fileId}
     where r.id = ${roomId}`);
  if (row === undefined) throw new AppError('ROOM_NOT_FOUND', { roomId });
  const { roomPk, id, ...rest } = row;
  return { roomPk, file: id === null ? null : { id, ...rest } };
}

interface FilesPlace {
  readonly roomId: RoomId;
  readonly fileIds: readonly string[];
}

/** Those files that the room has, by id. @throws AppError ROOM_NOT_FOUND */
export async function findFiles(db: Sql, { roomId, fileIds }: FilesPlace): Promise<ReadonlyMap<string, StoredFile>> {
  const rows = await db.query(sql<Omit<StoredFile, 'id'> & { id: string | null }>`
    select ${BLOB_COLUMNS} from rooms r left join files f on f.room_pk = r.pk and f.id = any(${fileIds}::text[])
     where r.id = ${roomId}`);
  if (rows.length === 0) throw new AppError('ROOM_NOT_FOUND', { roomId });
  return new Map(rows.flatMap(({ id, ...rest }) => (id === null ? [] : [[id, { id, ...rest }]])));
}

/** Those of `fileIds` that the room does not have; none where there is no room, for that is to be said first. */
export async function findMissingFiles(db: Sql, { roomId, fileIds }: FilesPlace): Promise<string[]> {
  const missing = await db.query(sql<{ id: string }>`
    select wanted.id from rooms r cross join (select distinct unnest(${fileIds}::text[])) as wanted (id)
     where r.id = ${roomId} and not exists (select from files f where f.room_pk = r.pk and f.id = wanted.id)`);
  return missing.map(({ id }) => id);
}

/** As `makeBlobRowQuery` says; null when no file was made. */
export async function makeFile(
  db: Sql,
  { roomPk, file, from }: { roomPk: RoomPk; file: StoredFile; from: FromParts | null },
): Promise<StoredFile | null> {
  const [made] = await db.query(
    makeBlobRowQuery<StoredFile>({
      table: sql`files`,
      owner: sql`select pk from rooms where pk = ${roomPk} for key share`,
      more: { columns: sql`room_pk`, values: sql`owner.pk` },
      returning: BLOB_COLUMNS,
      blob: file,
      from,
    }),
  );
  return made ?? null;
}

/** The file that these parts of this upload became. */
export async function findCompleted(
  db: Sql,
  { roomPk, fileId, uploadId, digest }: FromParts & { readonly roomPk: RoomPk; readonly fileId: string },
): Promise<StoredFile | null> {
  const [file] = await db.query(sql<StoredFile>`
    select ${BLOB_COLUMNS} from files f
     where f.room_pk = ${roomPk} and f.id = ${fileId} and f.upload_id = ${uploadId} and f.parts = ${digest}`);
  return file ?? null;
}
