import { describe, expect, test } from 'vitest';
import { POINTER_SEGMENTS_MAX, parsePointer, pointerSegment } from '../../src/base/json-pointer.ts';

describe('a JSON pointer', () => {
  test.each([
    ['/a', ['a']],
    ['/', ['']],
    ['/a/', ['a', '']],
    ['/a~1b/m~0n/~01', ['a/b', 'm~n', '~1']],
    ['/ü/-/0', ['ü', '-', '0']],
  ])('%j has the segments %j', (pointer, segments) => {
    expect(parsePointer(pointer, 'path')).toEqual(segments);
    expect(segments.map(pointerSegment).join('')).toBe(pointer);
  });

  test.each([
    ['', 'must start with a slash'],
    ['a', 'must start with a slash'],
    ['#/a', 'must start with a slash'],
    ['/a~', '~ must be followed by 0 or 1'],
    ['/a~2/b', '~ must be followed by 0 or 1'],
    ['/a/__proto__', 'names the key "__proto__", which is not allowed'],
    ['/constructor/a', 'names the key "constructor", which is not allowed'],
    ['/a'.repeat(POINTER_SEGMENTS_MAX + 1), `more than ${POINTER_SEGMENTS_MAX} segments`],
  ])('%j is refused: %s', (pointer, reason) => {
    expect(() => parsePointer(pointer, '/0/path')).toThrow(
      expect.objectContaining({
        code: 'UNPROCESSABLE_ENTITY',
        facts: { key: '/0/path', reason: expect.stringContaining(reason) },
      }),
    );
  });

  test(`may have ${POINTER_SEGMENTS_MAX} segments`, () => {
    expect(parsePointer('/a'.repeat(POINTER_SEGMENTS_MAX), 'path')).toHaveLength(POINTER_SEGMENTS_MAX);
  });
});
