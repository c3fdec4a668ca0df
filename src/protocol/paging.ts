/** Cursors of lists, and the times by which clients ask what has changed. It knows no list. */
import { msFromIso } from '../base/clock.ts';
import { valueAtKey } from '../base/errors.ts';
import { sha256Hex } from '../base/sha256.ts';

/** Where a page ended: the time of its last item, and the item's number, which tells two of one millisecond apart. */
export interface Position {
  readonly atMs: number;
  readonly pk: number;
}

/** Names a list by what it was asked for, too: to a cursor that of another user, or with another filter, is another list (supplement 4.4 row 14). */
export function listAsked(name: string, by: readonly (string | null | undefined)[]): string {
  return `${name}-${hashOfAsked(by)}`;
}

/** What tells two ways to ask for one list apart, in 16 characters. */
export function hashOfAsked(by: readonly unknown[]): string {
  return sha256Hex(Buffer.from(JSON.stringify(by))).slice(0, 16);
}

/** @param list names the list, so that no cursor is used on another */
export function cursorAfter({ atMs, pk }: Position, list: string): string {
  return Buffer.from(JSON.stringify([list, atMs, pk])).toString('base64url');
}

/** @throws AppError UNPROCESSABLE_ENTITY naming `key` (supplement 7, row 16). */
export function positionAt(cursor: string, { list, key }: { readonly list: string; readonly key: string }): Position {
  const [, of, at, pk] = CURSOR.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  if (of !== list || Number(at) > TIME_MS_MAX) throw valueAtKey(key, 'is not a cursor of this list');
  return { atMs: Number(at), pk: Number(pk) };
}

/** A page of rows of which one more than `limit` was asked for: that one tells whether another page follows. */
export function pageFrom<Row>(
  found: readonly Row[],
  { limit, list, positionOf }: { readonly limit: number; readonly list: string; positionOf(row: Row): Position },
): { readonly page: Row[]; readonly nextCursor: string | null } {
  const page = found.slice(0, limit);
  const last = found.length > limit ? page.at(-1) : undefined;
  return { page, nextCursor: last === undefined ? null : cursorAfter(positionOf(last), list) };
}

const CURSOR = /^\["([\w-]{1,64})",(\d{1,15}),(\d{1,15})\]$/;
/** The last time that four digits of a year write, which the database reads; no row has a later one, also where a back end gives the time. */
const TIME_MS_MAX = Date.UTC(10_000, 0, 1) - 1;

/**
 * What has changed is shown again for so long: the clocks of workers and of the database may differ, and a commit takes its time between the
 * moment that it notes and the moment from which others see it.
 */
export const OVERLAP_MS = 60_000;

/** The `since` of a client as the time to ask the database for, in ms. @throws AppError UNPROCESSABLE_ENTITY naming `since`. */
export function changesSince(since: string): number {
  return Math.max(0, timeIn(since) - OVERLAP_MS);
}

/** A `since` that the database can be asked for, in ms. @throws AppError UNPROCESSABLE_ENTITY naming `since`. */
export function timeIn(since: string): number {
  const ms = msFromIso(since);
  if (ms === null) throw valueAtKey('since', 'must be a time such as 2026-01-02T03:04:05.678Z');
  return Math.max(0, Math.min(ms, TIME_MS_MAX));
}

/** Bound of ours on what an answer holds. Something that is larger by itself is an answer by itself. */
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;

/** The first of `found` that one answer holds: up to `limit`, and no more bytes than it may have. */
export function fitting<Item extends { readonly answerBytes: number }>(found: readonly Item[], limit: number): Item[] {
  let bytes = 0;
  const end = found.findIndex(({ answerBytes }, index) => {
    bytes += answerBytes;
    return index === limit || (index > 0 && bytes > ANSWER_BYTES_MAX);
  });
  return end === -1 ? [...found] : found.slice(0, end);
}

/** Of what was left out of several lists the first; null where nothing was. */
export function earliest(...timesMs: readonly (number | null)[]): number | null {
  const known = timesMs.filter((time) => time !== null);
  return known.length === 0 ? null : Math.min(...known);
}

/**
 * From when a client is to ask for changes next. When not all that had changed went into the answer, it is asked from the first that was left
 * out, `leftOutMs`: what is asked is always a little more.
 */
export function nextSinceMs(requestedAtMs: number, leftOutMs: number | null): number {
  return leftOutMs === null ? requestedAtMs : leftOutMs + OVERLAP_MS;
}
