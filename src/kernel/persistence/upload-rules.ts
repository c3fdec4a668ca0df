/** What of an upload can be judged without asking anybody: names, sizes, which parts. Pure; it does not know what is uploaded. */
import { AppError, valueAtKey } from '../../base/errors.ts';
import { sha256Base64Url } from '../../base/sha256.ts';
import { isStorableText } from '../../base/text.ts';
import { type NamedPart, plainEtag } from './blob-parts.ts';

/** How long a download address holds (contract, Limits). */
export const URL_VALID_MS = 3_600_000;
/** UTF-8 (supplement 7, row 91). */
export const UPLOAD_NAME_BYTES_MAX = 1_024;

/** Any text but an empty one, slashes and dots too: it is never a path. @throws AppError UNPROCESSABLE_ENTITY (supplement 7, row 91) */
export function checkUploadName(name: string): string {
  if (name === '') throw valueAtKey('name', 'may not be empty');
  if (Buffer.byteLength(name) > UPLOAD_NAME_BYTES_MAX)
    throw valueAtKey('name', `must have at most ${UPLOAD_NAME_BYTES_MAX} bytes`);
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
  const size = fileSize ?? contentLength;
  if (size !== null && size > bytesMax) throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The file', bytesMax }); // row 84, whatever comes
  if (fileSize !== undefined && contentLength !== null && fileSize !== contentLength)
    throw valueAtKey('fileSize', `is ${fileSize}, and the body has ${contentLength} bytes`);
  return size;
}

/** The header's number of bytes; null where it gives none. */
export function contentLengthOf(headers: Readonly<Record<string, string>>): number | null {
  const text = headers['content-length'];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}

/** The same for the same parts, in whatever order they are named. */
export function digestOfParts(parts: readonly NamedPart[]): string {
  const lines = parts.map(({ partNumber, etag }) => `${partNumber} ${plainEtag(etag)}`).sort();
  return sha256Base64Url(lines.join('\n'));
}
