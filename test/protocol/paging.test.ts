import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { changesSince, cursorAfter, fitting, nextSinceMs, pageFrom, positionAt } from '../../src/protocol/paging.ts';

const POSITION = { atMs: 1_930_000_000_007, pk: 12 };
const encoded = (text: string) => Buffer.from(text).toString('base64url');

test('[PA1] a cursor leads back to where the page ended, in its own list alone', () => {
  const cursor = cursorAfter(POSITION, 'inbox');
  expect(cursor).toMatch(/^[\w-]+$/);
  expect(positionAt(cursor, { list: 'inbox', key: 'startingAfter' })).toEqual(POSITION);
  for (const wrong of [
    cursorAfter(POSITION, 'groups'),
    '',
    'x',
    encoded('["inbox",1]'),
    encoded('["inbox",-1,1]'),
    encoded(`["inbox",${'9'.repeat(15)},1]`),
  ])
    expect(() => positionAt(wrong, { list: 'inbox', key: 'cursor' })).toThrow("'cursor' is not a cursor of this list");
});

test('[AE24] a cursor leads on from any time that a back end may give a thread', () => {
  const at = (atMs: number) => positionAt(cursorAfter({ atMs, pk: 1 }, 'threads'), { list: 'threads', key: 'cursor' }).atMs;
  for (const atMs of [0, Date.UTC(5138, 10, 17), Date.UTC(9999, 0, 1), Date.UTC(9999, 11, 31, 23, 59, 59, 999)])
    expect(at(atMs)).toBe(atMs);
  expect(() => at(Date.UTC(10_000, 0, 1))).toThrow("'cursor' is not a cursor of this list");
});

test('[PA5] one row more than a page tells that another follows, which begins after the last of this one', () => {
  const rows = [3, 2, 1].map((pk) => ({ pk }));
  const positionOf = ({ pk }: { pk: number }) => ({ atMs: 7, pk });
  const pageOf = (limit: number) => pageFrom(rows, { limit, list: 'inbox', positionOf });
  expect(pageOf(3)).toEqual({ page: rows, nextCursor: null });
  expect(pageOf(2)).toEqual({ page: rows.slice(0, 2), nextCursor: cursorAfter({ atMs: 7, pk: 2 }, 'inbox') });
  expect(pageFrom([], { limit: 1, list: 'inbox', positionOf })).toEqual({ page: [], nextCursor: null });
});

test('[PA2] what has changed is asked for from a minute earlier, and only since a time', () => {
  expect(changesSince('2031-02-03T04:05:06.007Z')).toBe(Date.UTC(2031, 1, 3, 4, 4, 6, 7));
  expect(changesSince('2031-02-03T05:05+01:00')).toBe(Date.UTC(2031, 1, 3, 4, 4));
  expect([changesSince('1970-01-01T00:00:00Z'), changesSince('0000-01-01T00:00:00Z')]).toEqual([0, 0]);
  expect(changesSince('9999-12-31T23:59:59-23:59')).toBe(Date.UTC(10_000, 0, 1) - 1 - 60_000);
  for (const wrong of ['', 'yesterday', '2031', '2031-13-01T00:00:00Z', '2031-02-29T00:00:00Z', '1', '2031-02-03T04:05:06.007'])
    expect(() => changesSince(wrong), wrong).toThrow(AppError);
});

test('[PA3] an answer holds as many as asked for, and no more bytes than it may, but always one', () => {
  const items = (...megabytes: number[]) => megabytes.map((size) => ({ answerBytes: size * 1024 * 1024 }));
  expect(fitting(items(1, 1, 1), 2)).toHaveLength(2);
  expect(fitting(items(1, 1), 5)).toHaveLength(2);
  expect(fitting(items(8, 8, 1), 5)).toHaveLength(2);
  expect(fitting(items(17, 1), 5)).toHaveLength(1);
  expect(fitting([], 5)).toEqual([]);
});

test('[PA4] what did not go into an answer comes with the next, as what is asked reaches back', () => {
  expect(nextSinceMs(1_000_000, null)).toBe(1_000_000);
  const next = nextSinceMs(1_000_000, 500_000);
  expect(changesSince(new Date(next).toISOString())).toBe(500_000);
});
