import { applyLiveTextOperations, normalizeLiveTextOperations } from '@liveblocks/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { LiveTextData, TextOperation } from '../../../src/protocol/storage-ops.ts';
import { editText, normalText } from '../../../src/room/storage/text.ts';
import { aText, textOperations } from './arbitraries.ts';

const edit = (data: LiveTextData, ...operations: TextOperation[]) => editText(data, operations).data;

describe('text', () => {
  test('[LT1] in normal form has no empty runs, and neighbours with equal attributes are one', () => {
    expect(normalText([['a'], [''], ['b'], ['c', { bold: true }], ['d', { bold: true }], ['e', { bold: false }]])).toEqual([
      ['ab'],
      ['cd', { bold: true }],
      ['e', { bold: false }],
    ]);
    expect(normalText([['']])).toEqual([]);
    expect(
      normalText([
        ['a', { note: { id: 1 } }],
        ['b', { note: { id: 1 } }],
      ]),
    ).toEqual([['ab', { note: { id: 1 } }]]);
  });

  test('[LT2] inserted text has only its own attributes, and joins neighbours that have the same', () => {
    expect(edit([['ab', { bold: true }]], { type: 'insert', index: 1, text: 'X' })).toEqual([
      ['a', { bold: true }],
      ['X'],
      ['b', { bold: true }],
    ]);
    expect(edit([['ab', { bold: true }]], { type: 'insert', index: 2, text: 'X', attributes: { bold: true } })).toEqual([
      ['abX', { bold: true }],
    ]);
  });

  test('[LT2] a null attribute in a format takes it away; other attributes stay', () => {
    const data: LiveTextData = [['ab', { bold: true, i: 1 }]];
    expect(edit(data, { type: 'format', index: 0, length: 1, attributes: { bold: null } })).toEqual([
      ['a', { i: 1 }],
      ['b', { bold: true, i: 1 }],
    ]);
    expect(edit(data, { type: 'format', index: 0, length: 2, attributes: { bold: null, i: null } })).toEqual([['ab']]);
    const nulled: LiveTextData = [['a', { n: null }]]; // as it was inserted: clients keep it
    expect(edit(nulled, { type: 'format', index: 0, length: 1, attributes: { b: true } })).toEqual([['a', { n: null, b: true }]]);
  });

  test('[LT3] operations are clipped to the text, and say so', () => {
    const { data, operations } = editText(
      [['abc']],
      [
        { type: 'insert', index: 9, text: 'd' },
        { type: 'delete', index: 2, length: 9 },
        { type: 'delete', index: 9, length: 1 },
      ],
    );
    expect(data).toEqual([['ab']]);
    expect(operations).toEqual([
      { type: 'insert', index: 3, text: 'd' },
      { type: 'delete', index: 2, length: 2 },
      { type: 'delete', index: 2, length: 0 },
    ]);
  });

  test('[LT3] no operation ends between the halves of a surrogate pair, not even where two runs meet in it', () => {
    const { data, operations } = editText(
      [['a😀b']],
      [
        { type: 'insert', index: 2, text: 'X' },
        { type: 'delete', index: 3, length: 1 },
      ],
    );
    expect(operations).toEqual([
      { type: 'insert', index: 1, text: 'X' },
      { type: 'delete', index: 2, length: 2 },
    ]);
    expect(data).toEqual([['aXb']]);
    expect(editText([['\ud83d'], ['\ude00', { b: 1 }]], [{ type: 'insert', index: 1, text: 'X' }]).operations).toEqual([
      { type: 'insert', index: 0, text: 'X' },
    ]);
  });

  test('[LT3] edits give the text and the operations that the SDK predicts', () => {
    fc.assert(
      fc.property(aText, textOperations(14), (data, operations) => {
        const start = applyLiveTextOperations(data as never, []) as unknown as LiveTextData;
        const ours = editText(start, operations);
        expect(ours.operations).toEqual(normalizeLiveTextOperations(start as never, operations as never));
        expect(ours.data).toEqual(applyLiveTextOperations(start as never, ours.operations as never));
      }),
      { numRuns: 2_000 },
    );
  });
});
