/**
 * From bytes to a row that refers to them: whole or in parts, once, and the same again where it is there already. Bytes pass from the request to
 * the store and are never held whole. It does not know what rows these are, nor who may upload.
 */
import { AppError } from '../../base/errors.ts';
import { mimeTypeOf } from '../../base/mime-types.ts';
import { countedBody, type NamedPart } from './blob-parts.ts';
import type { Blobs } from './blobs.ts';
import { dropBlob, noteBlob } from './loose-blobs.ts';
import type { Sql } from './sql.ts';
import type { UploadPlace } from './upload-queries.ts';
import type { FromParts, UploadedBlob } from './upload-rows.ts';
import { digestOfParts, URL_VALID_MS } from './upload-rules.ts';
import { completeUpload, noSuchUpload, type UploadsDeps } from './uploads.ts';

export interface KeepDeps extends UploadsDeps {
  readonly blobs: Pick<Blobs, 'put' | 'head' | 'parts'>;
  /** Never the same twice; letters, digits, `_` and `-`. */
  newId(): string;
}

/** What is uploaded. */
interface UploadSubject {
  /** What it is called in refusals. */
  readonly kind: string;
  readonly id: string;
  readonly stream: number;
  /** Who uploads, where uploads belong to somebody. */
  readonly by: string | null;
  /** Begins the keys of its blobs; nothing that a client says becomes part of one. */
  readonly keysUnder: `v1/${string}`;
}

/** What an upload is to become: the row of this id. */
export interface UploadTarget<Row extends UploadedBlob> extends UploadSubject {
  /** @throws AppError when what it belongs to is gone */
  find(db: Sql): Promise<Row | null>;
  /** Null, and no row, when there is one of this id, its owner is gone, or the blob is being thrown away. */
  make(db: Sql, blob: UploadedBlob, from: FromParts | null): Promise<Row | null>;
  findCompleted(db: Sql, from: FromParts): Promise<Row | null>;
  /** Whether the row that is there is that of who uploads. */
  isOwn(row: Row): boolean;
}

export function newKey({ keysUnder, stream }: UploadSubject, { newId }: KeepDeps): string {
  return `${keysUnder}/${stream}/${newId()}`;
}

export function placeOf({ stream, id: subject, by }: UploadSubject, uploadId: string): UploadPlace {
  return { stream, subject, id: uploadId, by };
}

/** The row that is there, for who uploads it once more. @throws AppError RESOURCE_ALREADY_EXISTS when it is another (supplement 7, rows 81 and 82) */
export function sameRow<Row extends UploadedBlob>(
  found: Row,
  { name, size }: Pick<UploadedBlob, 'name' | 'size'>,
  target: UploadTarget<Row>,
): Row {
  if (found.name !== name || found.size !== size || !target.isOwn(found)) throw rowExists(target);
  return found;
}

export function rowExists({ kind, id }: UploadSubject): AppError {
  return new AppError('RESOURCE_ALREADY_EXISTS', { kind, id });
}

interface Incoming {
  readonly name: string;
  readonly body: AsyncIterable<Uint8Array>;
  /** As announced. */
  readonly size: number | null;
}

export async function keepWhole<Row extends UploadedBlob>(
  target: UploadTarget<Row>,
  { name, body, size }: Incoming,
  deps: KeepDeps,
): Promise<Row> {
  const { db, blobs } = deps;
  const blobKey = newKey(target, deps);
  await noteBlob(db, blobKey);
  try {
    const stored = await blobs.put(blobKey, size === null ? body : countedBody(body, size));
    const kept = await madeOrSame(target, { name, size: stored.size, blobKey }, null, deps);
    if (kept.blobKey !== blobKey) await drop(blobKey, deps);
    return kept;
  } catch (error) {
    const mayYetBePut = error instanceof AppError && error.retry; // a sweep that came before would leave it to nobody
    if (!mayYetBePut) await drop(blobKey, deps);
    throw error;
  }
}

/** @throws AppError RESOURCE_NOT_FOUND when there is no such upload, RESOURCE_ALREADY_EXISTS, and what `BlobParts.complete` throws */
export async function keepOfParts<Row extends UploadedBlob>(
  target: UploadTarget<Row>,
  { uploadId, parts }: { readonly uploadId: string; readonly parts: readonly NamedPart[] },
  deps: KeepDeps,
): Promise<Row> {
  const from = { uploadId, digest: digestOfParts(parts) };
  const place = placeOf(target, uploadId);
  const made = await completeUpload(place, parts, deps);
  if (made === null) {
    const row = await target.findCompleted(deps.db, from);
    if (row === null || !target.isOwn(row)) throw noSuchUpload(place);
    return row;
  }
  const { key, size, about } = made;
  try {
    const kept = await madeOrSame(target, { name: String(about.name), size, blobKey: key }, from, deps);
    if (kept.blobKey !== key) await drop(key, deps);
    return kept;
  } catch (error) {
    if (error instanceof AppError && !error.retry) await drop(key, deps); // there is another row, or no owner
    throw error;
  }
}

/** Downloads the blob of a row for an hour, without credentials. */
export function addressOf(
  { blobKey, name, mimeType }: UploadedBlob,
  { blobs }: { readonly blobs: Pick<Blobs, 'presign'> },
): Promise<string> {
  return blobs.presign(blobKey, { validMs: URL_VALID_MS, fileName: name, mimeType });
}

/** The row made of a blob, or the same one when somebody else was faster. @throws AppError RESOURCE_ALREADY_EXISTS when that is another one */
async function madeOrSame<Row extends UploadedBlob>(
  target: UploadTarget<Row>,
  blob: Pick<UploadedBlob, 'name' | 'size' | 'blobKey'>,
  from: FromParts | null,
  { db }: KeepDeps,
): Promise<Row> {
  const made = await target.make(db, { id: target.id, mimeType: mimeTypeOf(blob.name), ...blob }, from);
  if (made !== null) return made;
  const found = await target.find(db);
  if (found === null)
    throw new AppError('BLOBS_UNAVAILABLE', { reason: 'what was uploaded has been thrown away: it took a day' });
  return sameRow(found, blob, target);
}

/** A failure costs a day: the key is due then anyway. */
async function drop(key: string, { db, log }: KeepDeps): Promise<void> {
  await dropBlob(db, key).catch((error: unknown) => log.debug({ err: error, key }, 'blob not dropped'));
}
