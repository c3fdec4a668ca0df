import { describe, expect, test } from 'vitest';
import type { AppError } from '../../../src/base/errors.ts';
import { sameRow, type UploadTarget } from '../../../src/kernel/persistence/kept-uploads.ts';
import type { UploadedBlob } from '../../../src/kernel/persistence/upload-rows.ts';
import { announcedSize, checkUploadName, contentLengthOf, digestOfParts } from '../../../src/kernel/persistence/upload-rules.ts';

const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (error) {
    return `${(error as AppError).status} ${(error as AppError).message}`;
  }
  throw new Error('not refused');
};

describe('names', () => {
  test.each(['a', ' ', '..', 'a/b', 'é'.repeat(512), 'x'.repeat(1_024), '\u202e', 'a\nb'])('[FI18] %j is one', (name) => {
    expect(checkUploadName(name)).toBe(name);
  });
  test.each(['', 'x'.repeat(1_025), `${'é'.repeat(512)}x`, 'a\u0000', '\ud800'])('[FI18] %j is none', (name) => {
    expect(refusal(() => checkUploadName(name))).toMatch(/^422 Value at key 'name' /);
  });
});

describe('sizes', () => {
  const sizeOf = (fileSize: number | undefined, contentLength: number | null) => announcedSize({ fileSize, contentLength }, 10);
  test('[FI19] the size is what query or header say, or nobody knows', () => {
    expect([sizeOf(10, null), sizeOf(undefined, 10), sizeOf(7, 7), sizeOf(0, 0), sizeOf(undefined, null)]).toEqual([
      10,
      10,
      7,
      0,
      null,
    ]);
  });
  test('[FI19] above the limit it is 413, and when the two differ 422', () => {
    expect(refusal(() => sizeOf(11, null))).toBe('413 The file is larger than 10 bytes.');
    expect(refusal(() => sizeOf(undefined, 11))).toMatch(/^413 /);
    expect(refusal(() => sizeOf(11, 5))).toMatch(/^413 /);
    expect(refusal(() => sizeOf(3, 4))).toMatch(/^422 Value at key 'fileSize' is 3, and the body has 4 bytes/);
  });
  test.each([
    [{ 'content-length': '12' }, 12],
    [{ 'content-length': '0' }, 0],
    [{}, null],
    [{ 'content-length': '1e3' }, null],
    [{ 'content-length': '9'.repeat(16) }, null],
  ])('[FI19] of headers %j it is %s', (headers, expected) => {
    expect(contentLengthOf(headers as Record<string, string>)).toBe(expected);
  });
});

test('[FI20] a file is the same under the same name and size, whatever else is said', () => {
  const file = { id: 'fl_1', name: 'a', size: 1, mimeType: 'x', blobKey: 'k' };
  const target = (isOwn: boolean) => ({ kind: 'file', id: 'fl_1', isOwn: () => isOwn }) as unknown as UploadTarget<UploadedBlob>;
  expect(sameRow(file, { name: 'a', size: 1 }, target(true))).toBe(file);
  for (const other of [
    { name: 'b', size: 1 },
    { name: 'a', size: 2 },
  ])
    expect(refusal(() => sameRow(file, other, target(true)))).toBe('409 The file "fl_1" exists already.');
  expect(refusal(() => sameRow(file, file, target(false)))).toBe('409 The file "fl_1" exists already.');
});

test('[FI20] parts are the same in any order, with quotes or without; never with another number or etag', () => {
  const digest = digestOfParts([
    { partNumber: 2, etag: 'b' },
    { partNumber: 10, etag: '"a"' },
  ]);
  const others = [
    [
      { partNumber: 10, etag: 'a' },
      { partNumber: 2, etag: 'b' },
    ],
    [
      { partNumber: 2, etag: 'a' },
      { partNumber: 10, etag: 'b' },
    ],
    [{ partNumber: 2, etag: 'b' }],
    [{ partNumber: 2, etag: 'b\n10 a' }],
  ];
  expect(others.map((parts) => digestOfParts(parts) === digest)).toEqual([true, false, false, false]);
});
