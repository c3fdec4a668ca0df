import { expect, test } from 'vitest';
import { checkSince, checkVersionId, cursorAfter, positionAt } from '../../../src/features/versions/rules.ts';

test('[VH21] an id begins with vh_; what is no id is the id of nothing (row 96)', () => {
  for (const id of ['vh_x', `vh_${'-'.repeat(64)}`]) expect(checkVersionId(id)).toBe(id);
  for (const id of ['', 'vh_', 'vx_1', 'vh_ä', 'vh_a b', 'vh_\u0000', `vh_${'x'.repeat(65)}`])
    expect(() => checkVersionId(id)).toThrow(`The version "${id}" does not exist.`);
});

test('[VH22] a cursor leads back to where it was made; anything else is refused (row 16)', () => {
  for (const position of [
    { createdAtMs: 0, pk: 1 },
    { createdAtMs: 1_795_241_154_007, pk: 987_654_321_012_345 },
  ])
    expect(positionAt(cursorAfter(position))).toEqual(position);
  const made = (text: string): string => Buffer.from(text).toString('base64url');
  for (const cursor of ['', 'x', '%%', made('["schemas",1,2]'), made('["versions",1]'), made(`["versions",${'9'.repeat(15)},1]`)])
    expect(() => positionAt(cursor)).toThrow("Value at key 'cursor' is not a cursor of this list.");
});

test('[VH23] a time is ISO 8601; one that no version can have is as good as the nearest', () => {
  expect(checkSince('2026-01-02T03:04:05.678Z')).toBe(Date.parse('2026-01-02T03:04:05.678Z'));
  expect(checkSince('2026-01-02T03:04+02:00')).toBe(Date.parse('2026-01-02T01:04:00Z'));
  expect(checkSince('0000-01-01T00:00:00Z')).toBe(0);
  expect(checkSince('9999-12-31T23:59:59-23:59')).toBe(99_999_999_999_999);
  for (const since of ['', 'now', '0', '2026-01-02', '2026-13-02T03:04:05Z', '+275760-09-13T00:00:00.000Z'])
    expect(() => checkSince(since)).toThrow("Value at key 'since' must be a time");
});
