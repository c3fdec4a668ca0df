/** What ids, cursors and times of versions may be. Pure: it knows neither tables nor routes. */
import { AppError, valueAtKey } from '../../base/errors.ts';

const VERSION_ID = /^vh_[\w-]{1,64}$/;

/** @throws AppError RESOURCE_NOT_FOUND: what is no id is the id of nothing (supplement 7, row 96). */
export function checkVersionId(id: string): string {
  if (!VERSION_ID.test(id)) throw noVersion(id);
  return id;
}

export function noVersion(id: string): AppError {
  return new AppError('RESOURCE_NOT_FOUND', { kind: 'version', id });
}

/** Where a page ended: its last version. Two of one millisecond are told apart by their number. */
export interface Position {
  readonly createdAtMs: number;
  readonly pk: number;
}

export function cursorAfter({ createdAtMs, pk }: Position): string {
  return Buffer.from(JSON.stringify(['versions', createdAtMs, pk])).toString('base64url');
}

/** @throws AppError UNPROCESSABLE_ENTITY naming `cursor` (supplement 7, row 16). */
export function positionAt(cursor: string): Position {
  const [, createdAt, digits] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (createdAt === undefined || digits === undefined) throw valueAtKey('cursor', 'is not a cursor of this list');
  return { createdAtMs: Number(createdAt), pk: Number(digits) };
}

/** Times up to the year 5138: what has more digits is none that the database reads. */
const CURSOR = /^\["versions",(\d{1,14}),(\d{1,15})\]$/;
const TIME_MS_MAX = 99_999_999_999_999;

/** In ms since the epoch. @throws AppError UNPROCESSABLE_ENTITY naming `since`. */
export function checkSince(since: string): number {
  const ms = ISO.test(since) ? Date.parse(since) : Number.NaN;
  if (Number.isNaN(ms)) throw valueAtKey('since', 'must be a time such as 2026-01-02T03:04:05.678Z');
  return Math.min(Math.max(0, ms), TIME_MS_MAX);
}

const ISO = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/;
