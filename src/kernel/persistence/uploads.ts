/**
 * Uploads in parts, over requests of their own and on any worker, that are to become a blob which some row refers to. It does not know what rows
 * these are, nor who may upload.
 */
import { AppError } from '../../base/errors.ts';
import type { JsonObject } from '../../base/json.ts';
import type { Log } from '../../base/observe.ts';
import { type NamedPart, PART_BYTES_MIN, type PartsUpload } from './blob-parts.ts';
import type { Blobs } from './blobs.ts';
import type { Sql } from './sql.ts';
import {
  abandonQuery,
  admitQuery,
  beginQuery,
  noteQuery,
  openQuery,
  returnBytesQuery,
  type UploadPlace,
  type UploadRow,
} from './upload-queries.ts';

export interface UploadsDeps {
  readonly db: Sql;
  readonly blobs: Pick<Blobs, 'head' | 'parts'>;
  /** Largest blob. */
  readonly bytesMax: number;
  readonly log: Log;
}

/** Parts may come again; what brings more than this many times the largest blob is no upload of one. */
const CAME_PER_BLOB_MAX = 2;

/** @returns whether it was begun: not when the stream has as many open ones as it may */
export async function beginUpload(
  place: UploadPlace,
  { key, ...what }: { key: string } & Pick<UploadRow, 'about' | 'size'>,
  { db, blobs }: UploadsDeps,
): Promise<boolean> {
  const { uploadId: storeUploadId } = await blobs.parts.start(key);
  const begun = await db.query(beginQuery(place, { ...what, blobKey: key, storeUploadId }));
  if (begun.length === 0) await blobs.parts.abort({ key, uploadId: storeUploadId });
  return begun.length > 0;
}

/** Ours are; anything else names none, and need not be asked for. */
function isUploadId(text: string): boolean {
  return /^[\w-]{1,64}$/.test(text);
}

interface Part {
  readonly partNumber: number;
  readonly body: AsyncIterable<Uint8Array>;
  /** As announced; without it at most 5 MiB may come. */
  readonly size: number | null;
}

/** @throws AppError RESOURCE_NOT_FOUND when there is no such upload, PAYLOAD_TOO_LARGE, and what `BlobParts.put` throws */
export async function putPart(place: UploadPlace, { partNumber, body, size }: Part, deps: UploadsDeps): Promise<NamedPart> {
  const { db, blobs, bytesMax, log } = deps;
  if (!isUploadId(place.id)) throw noSuchUpload(place);
  const bytes = Math.min(size ?? PART_BYTES_MIN, bytesMax);
  const [row] = await db.query(admitQuery(place, { bytes, cameBytesMax: bytesMax * CAME_PER_BLOB_MAX }));
  if (row === undefined) {
    const isOpen = (await db.query(openQuery(place))).length > 0;
    throw isOpen ? new AppError('PAYLOAD_TOO_LARGE', { what: 'The file', bytesMax }) : noSuchUpload(place);
  }
  let came = 0;
  try {
    const part = await blobs.parts.put(inStore(row), partNumber, { body, ...(size !== null && { size }) });
    came = part.size;
    return { partNumber, etag: part.etag };
  } catch (error) {
    throw isUnknown(error) ? noSuchUpload(place) : error;
  } finally {
    if (came < bytes)
      await db
        .query(returnBytesQuery(place.id, bytes - came))
        .catch((error: unknown) => log.debug({ err: error, uploadId: place.id }, 'bytes not returned'));
  }
}

/** A blob that was made of parts, and is loose until a statement makes a row refer to it, which also deletes the row of the upload. */
export interface MadeBlob {
  readonly key: string;
  readonly size: number;
  readonly about: JsonObject;
}

/**
 * Makes the blob, or finds the one made by an attempt that did not come to its end. Null when no such upload is open: it may be complete.
 * @throws AppError RESOURCE_NOT_FOUND when there never was one, or the store has lost it, and what `BlobParts.complete` throws: then nothing has changed
 */
export async function completeUpload(
  place: UploadPlace,
  parts: readonly NamedPart[],
  { db, blobs, bytesMax }: UploadsDeps,
): Promise<MadeBlob | null> {
  if (!isUploadId(place.id)) throw noSuchUpload(place);
  const [row] = await db.query(noteQuery(place));
  if (row === undefined) return null;
  const { about, size, blobKey: key } = row;
  try {
    const made = await blobs.parts.complete(inStore(row), parts, { bytesMax, ...(size !== null && { bytes: size }) });
    return { key, size: made.size, about };
  } catch (error) {
    if (!isUnknown(error)) throw error;
    const made = await blobs.head(key);
    if (made === null) throw noSuchUpload(place);
    return { key, size: made.size, about };
  }
}

/** @throws AppError RESOURCE_NOT_FOUND when there is no such upload */
export async function abandonUpload(place: UploadPlace, { db }: Pick<UploadsDeps, 'db'>): Promise<void> {
  const given = isUploadId(place.id) ? await db.query(abandonQuery(place)) : [];
  if (given.length === 0) throw noSuchUpload(place);
}

export function noSuchUpload({ id }: UploadPlace): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'upload', id });
}

function inStore({ blobKey, storeUploadId }: UploadRow): PartsUpload {
  return { key: blobKey, uploadId: storeUploadId };
}

/** The store says that it knows no such upload. */
function isUnknown(error: unknown): boolean {
  return error instanceof AppError && error.code === 'RESOURCE_NOT_FOUND';
}
