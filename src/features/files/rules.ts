/** What of an upload can be judged without asking anybody: names, sizes, whether it is the same again. Pure. */
import { createHash } from 'node:crypto';
import { AppError, valueAtKey } from '../../base/errors.ts';
import { isStorableText } from '../../base/text.ts';
import { plainEtag } from '../../kernel/persistence/blob-parts.ts';
import { FILE_ID_PATTERN, FILE_LENGTHS, type FileData } from '../../protocol/storage-ops.ts';
import type { Part } from './shapes.ts';

/** How long a download address holds (contract, Limits). */
export const URL_VALID_MS = 3_600_000;

/** Any text, slashes and dots too: it is never a path. @throws AppError UNPROCESSABLE_ENTITY (supplement 7, row 91) */
export function checkFileName(name: string): string {
  if (Buffer.byteLength(name) > FILE_LENGTHS.name) throw valueAtKey('name', `must have at most ${FILE_LENGTHS.name} bytes`);
  if (!isStorableText(name)) throw valueAtKey('name', 'may not hold U+0000 or half of a surrogate pair');
  return name;
}

interface Announced {
  /** The query's. */
  readonly fileSize: number | undefined;
  /** The header's; null where the body comes in chunks. */
  readonly contentLength: number | null;
}

/** The size that the whole file is said to have; null when nobody says. @throws AppError PAYLOAD_TOO_LARGE, UNPROCESSABLE_ENTITY */
export function announcedSize({ fileSize, contentLength }: Announced, bytesMax: number): number | null {
  if (fileSize !== undefined && contentLength !== null && fileSize !== contentLength)
    throw valueAtKey('fileSize', `is ${fileSize}, and the body has ${contentLength} bytes`);
  const size = fileSize ?? contentLength;
  if (size !== null && size > bytesMax) throw tooLarge(bytesMax);
  return size;
}

export function tooLarge(bytesMax: number): AppError {
  return new AppError('PAYLOAD_TOO_LARGE', { what: 'The file', bytesMax });
}

/** The header's number of bytes; null where it gives none. */
export function contentLengthOf(headers: Readonly<Record<string, string>>): number | null {
  const text = headers['content-length'];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The file that is there, for who uploads it once more. @throws AppError RESOURCE_ALREADY_EXISTS when it is another (supplement 7, rows 81 and 82) */
export function sameFile(found: FileData, { name, size }: Pick<FileData, 'name' | 'size'>): FileData {
  if (found.name !== name || found.size !== size) throw fileExists(found.id);
  return found;
}

export function fileExists(fileId: string): AppError {
  return new AppError('RESOURCE_ALREADY_EXISTS', { kind: 'file', id: fileId });
}

export function noSuchFile(fileId: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'file', id: fileId });
}

const FILE_ID = new RegExp(FILE_ID_PATTERN);

export function isFileId(text: string): boolean {
  return FILE_ID.test(text);
}

/** The same for the same parts, in whatever order they are named. */
export function digestOfParts(parts: readonly Part[]): string {
  const lines = parts.map(({ partNumber, etag }) => `${partNumber} ${plainEtag(etag)}`).sort();
  return createHash('sha256').update(lines.join('\n')).digest('base64url');
}
