import { transformTextOperations } from '@liveblocks/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { editText, normalText } from '../../../src/room/storage/text.ts';
import { transform } from '../../../src/room/storage/text-transform.ts';
import { aText, textOperations } from './arbitraries.ts';

describe('moving text operations over others made at the same time', () => {
  test('[LT4] an insert at the same place goes behind the earlier one', () => {
    const insert = { type: 'insert', index: 2, text: 'ab' } as const;
    expect(transform([insert], [insert], 'after')).toEqual([{ type: 'insert', index: 4, text: 'ab' }]);
    expect(transform([insert], [insert], 'before')).toEqual([insert]);
  });

  test('[LT4] a delete spares text that was inserted inside its range', () => {
    expect(transform([{ type: 'delete', index: 0, length: 5 }], [{ type: 'insert', index: 2, text: 'ab' }], 'after')).toEqual([
      { type: 'delete', index: 0, length: 2 },
      { type: 'delete', index: 2, length: 3 },
    ]);
  });

  test('[LT4] a format spares it too, and leaves a gap', () => {
    expect(
      transform(
        [{ type: 'format', index: 0, length: 5, attributes: { b: true } }],
        [{ type: 'insert', index: 2, text: 'ab' }],
        'after',
      ),
    ).toEqual([
      { type: 'format', index: 0, length: 2, attributes: { b: true } },
      { type: 'format', index: 4, length: 3, attributes: { b: true } },
    ]);
  });

  test('[LT4] what somebody else deleted already is deleted once', () => {
    expect(transform([{ type: 'delete', index: 1, length: 3 }], [{ type: 'delete', index: 0, length: 3 }], 'after')).toEqual([
      { type: 'delete', index: 0, length: 1 },
    ]);
    expect(transform([{ type: 'delete', index: 1, length: 2 }], [{ type: 'delete', index: 0, length: 3 }], 'after')).toEqual([]);
  });

  test('[LT4] of two formats of one attribute the later wins, where they overlap', () => {
    const ours = { type: 'format', index: 0, length: 4, attributes: { b: true, i: true } } as const;
    const theirs = { type: 'format', index: 2, length: 4, attributes: { b: false } } as const;
    expect(transform([ours], [theirs], 'after')).toEqual([ours]);
    expect(transform([ours], [theirs], 'before')).toEqual([
      { type: 'format', index: 0, length: 2, attributes: { b: true, i: true } },
      { type: 'format', index: 2, length: 2, attributes: { i: true } },
    ]);
  });

  test('[LT4] both orders give the same text (TP1)', () => {
    fc.assert(
      fc.property(aText, textOperations(14), textOperations(14), (data, one, other) => {
        // TP1 holds for operations within the text, as the server has them: clipped first.
        const start = normalText(data);
        const first = editText(start, one);
        const second = editText(start, other);
        const thenSecond = editText(first.data, transform(second.operations, first.operations, 'after'));
        const thenFirst = editText(second.data, transform(first.operations, second.operations, 'before'));
        expect(thenSecond.data).toEqual(thenFirst.data);
      }),
      { numRuns: 2_000 },
    );
  });

  test('[LT4] the result is the one the SDK predicts', () => {
    fc.assert(
      fc.property(
        textOperations(14),
        textOperations(14),
        fc.constantFrom('before' as const, 'after' as const),
        (one, other, order) => {
          expect(transform(one, other, order)).toEqual(transformTextOperations(one as never, other as never, order));
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test('[LT4] long sequences need no stack', () => {
    const typed = Array.from({ length: 20_000 }, (_, index) => ({ type: 'insert', index, text: 'x' }) as const);
    expect(transform(typed, [{ type: 'insert', index: 0, text: 'ab' }], 'after').at(-1)).toEqual({
      type: 'insert',
      index: 20_001,
      text: 'x',
    });
  });
});
