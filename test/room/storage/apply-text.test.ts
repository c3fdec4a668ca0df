import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import type { LiveTextData, Op, TextOperation, UpdateTextOp } from '../../../src/protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX } from '../../../src/protocol/storage-values.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import { editText } from '../../../src/room/storage/text.ts';
import { UPDATES_MAX } from '../../../src/room/storage/text-history.ts';
import { transform } from '../../../src/room/storage/text-transform.ts';
import type { Storage } from '../../../src/room/storage/tree.ts';
import { compactNodes, toJson } from '../../support/storage-documents.ts';
import { textOperations } from './arbitraries.ts';
import { createMap, createText, seen, send, storageOf, untagged, updateText } from './ops.ts';

const insert = (index: number, text: string): TextOperation => ({ type: 'insert', index, text });
const aText = (data: LiveTextData = [['abc']], version = 0) => storageOf(createText('1:0', '1:0', 'root', 'text', data, version));
const textIn = (storage: Storage): Json => toJson(storage).text ?? null;
const versionIn = (storage: Storage) => compactNodes(storage)[1]?.[5];
/** `count` keystrokes at the end. */
function type(storage: Storage, count: number): void {
  const from = versionIn(storage) as number;
  for (let n = 0; n < count; n += 1) send(storage, updateText(`2:${from + n}`, '1:0', from + n, [insert(9_999_999, 'x')]));
}

describe('UPDATE_TEXT', () => {
  test('[LT5] gets the next version, in the echo as in the forward', () => {
    const storage = aText([['abc']], 7);
    const op = updateText('2:0', '1:0', 7, [insert(1, 'X')]);
    const applied = { ...op, version: 8 };
    expect(send(storage, op)).toEqual({
      replies: [applied],
      forwards: [untagged(applied)],
      journal: [applied],
      rejected: [],
      needsRepair: false,
    });
    expect([textIn(storage), versionIn(storage)]).toEqual([[['aXbc']], 8]);
  });

  test('[LT5] what else a client writes into an edit is none of ours', () => {
    const storage = aText();
    const op = updateText('2:0', '1:0', 0, [insert(1, 'X')]);
    const { journal } = send(storage, Object.assign({ sent: 5, foreign: true }, op));
    expect(journal).toEqual([{ ...op, version: 1 }]);
  });

  test('[LT5] a version that a client states itself does not count', () => {
    const op = { ...updateText('2:0', '1:0', 0, [insert(0, 'X')]), version: 99 } as Op;
    expect(send(aText(), op).replies).toMatchObject([{ version: 1 }]);
  });

  test('[LT5] of two edits of one version the second is moved to come after the first', () => {
    const storage = aText();
    send(storage, updateText('2:0', '1:0', 0, [insert(1, 'X')]));
    expect(send(storage, updateText('3:0', '1:0', 0, [insert(1, 'Y')])).replies).toMatchObject([
      { baseVersion: 0, version: 2, ops: [insert(2, 'Y')] },
    ]);
    expect(textIn(storage)).toEqual([['aXYbc']]);
  });

  test('[LT5] operations are told as applied: clipped, and off the middle of surrogate pairs', () => {
    const { replies, forwards } = send(aText([['a😀']]), updateText('2:0', '1:0', 0, [insert(2, 'X'), insert(99, 'Y')]));
    expect([replies, forwards]).toMatchObject([
      [{ ops: [insert(1, 'X'), insert(4, 'Y')] }],
      [{ ops: [insert(1, 'X'), insert(4, 'Y')] }],
    ]);
  });

  test('[LT5] an edit that nothing is left of still takes its version', () => {
    const storage = aText();
    send(storage, updateText('2:0', '1:0', 0, [{ type: 'delete', index: 0, length: 3 }]));
    expect(send(storage, updateText('3:0', '1:0', 0, [{ type: 'delete', index: 1, length: 1 }])).replies).toMatchObject([
      { version: 2, ops: [] },
    ]);
  });

  test('[LT5] every client that applies echoes and forwards in order, its own edits first, comes to the same text', () => {
    fc.assert(
      fc.property(textOperations(8), textOperations(8), textOperations(8), (one, other, third) => {
        fc.pre([one, other, third].every(({ length }) => length > 0));
        const storage = aText([['abc'], ['def', { b: true }]]);
        const start: LiveTextData = [['abc'], ['def', { b: true }]];
        const own = editText(start, other);
        const first = send(storage, updateText('2:0', '1:0', 0, one)).forwards[0] as UpdateTextOp;
        const second = send(storage, updateText('3:0', '1:0', 0, [...own.operations])).forwards[0] as UpdateTextOp;
        const last = send(storage, updateText('2:1', '1:0', 1, third)).forwards[0] as UpdateTextOp;
        // What client 3 sees: its own edit at once, and the first one moved to come before it.
        const seenByThird = editText(own.data, transform(first.ops, own.operations, 'before'));
        expect(seenByThird.data).toEqual(editText(editText(start, first.ops).data, second.ops).data);
        expect(editText(seenByThird.data, last.ops).data).toEqual(textIn(storage));
      }),
      { numRuns: 500 },
    );
  });

  test('[LT6] without operations it is acknowledged as an edit, for its client may wait for that; the version stays', () => {
    const storage = aText();
    const op = updateText('2:0', '1:0', 0, []);
    expect(send(storage, op)).toMatchObject({ replies: [{ ...op, version: 0 }], forwards: [], journal: [] });
    expect(versionIn(storage)).toBe(0);
  });

  test('[LT6] on a node that is no text it is acknowledged as seen', () => {
    expect(
      send(storageOf(createMap('1:0', '1:0', 'root', 'map')), updateText('2:0', '1:0', 0, [insert(0, 'X')])).replies,
    ).toEqual([seen('2:0')]);
  });

  test('[LT7] sent twice it is applied once; the second is acknowledged as empty, at the version of now', () => {
    const storage = aText();
    const op = updateText('2:0', '1:0', 0, [insert(0, 'X')]);
    send(storage, op, updateText('2:1', '1:0', 1, [insert(0, 'Y')]));
    expect(send(storage, op)).toMatchObject({
      replies: [{ ...op, baseVersion: 2, version: 2, ops: [] }],
      forwards: [],
      journal: [],
      needsRepair: false,
    });
    expect(textIn(storage)).toEqual([['YXabc']]);
  });

  test('[LT7] resent after a reconnect, under the version of the snapshot, it is known all the same, and its sender needs no other snapshot', () => {
    const storage = aText();
    send(storage, updateText('2:0', '1:0', 0, [insert(0, 'X')]));
    const resent = updateText('2:0', '1:0', 1, [insert(0, 'X')]);
    expect(send(storage, updateText('5:0', '1:0', 1, []), resent)).toMatchObject({
      replies: [
        { opId: '2:0', version: 1, ops: [] },
        { opId: '5:0', ops: [] },
      ],
      needsRepair: false,
    });
  });

  test('[LT7] it is known among the last thousand, also after the room was loaded from its snapshot', () => {
    const storage = aText();
    type(storage, UPDATES_MAX);
    const loaded = loadStorage(dumpStorage(storage));
    for (const known of [storage, loaded]) {
      expect(send(known, updateText('2:0', '1:0', UPDATES_MAX, [insert(0, 'X')])).replies).toMatchObject([
        { version: UPDATES_MAX, ops: [] },
      ]);
    }
  });
});

describe('an UPDATE_TEXT that cannot be merged', () => {
  const rejection = (opId: string, reason: RegExp) => ({
    replies: [],
    forwards: [],
    journal: [],
    rejected: [{ opIds: [opId], reason: expect.stringMatching(reason) }],
    needsRepair: false,
  });

  test('[LT8] of a version not reached yet is rejected, and changes nothing', () => {
    const storage = aText();
    expect(send(storage, updateText('2:0', '1:0', 1, [insert(0, 'X')]))).toEqual(
      rejection('2:0', /^The text is at version 0; 1 /),
    );
    expect(send(storage, updateText('2:1', '1:0', 0, [insert(0, 'X')])).rejected).toEqual([]);
  });

  test('[LT8] a thousand versions behind it is merged, one more and it is rejected', () => {
    const storage = aText();
    type(storage, UPDATES_MAX);
    const late = (opId: string, baseVersion: number) => send(storage, updateText(opId, '1:0', baseVersion, [insert(0, 'X')]));
    expect(late('3:0', 0).replies).toMatchObject([{ version: UPDATES_MAX + 1 }]);
    expect(late('3:1', 0)).toEqual(rejection('3:1', /too old/));
    expect(late('3:2', 1).replies).toMatchObject([{ version: UPDATES_MAX + 2 }]);
  });

  test('[LT8] of a version before the text was created is rejected', () => {
    expect(send(aText([], 5), updateText('2:0', '1:0', 4, [insert(0, 'X')])).rejected).toHaveLength(1);
  });

  test('[LT8] updates under way while the room changes its owner are merged: a snapshot keeps the last hundred', () => {
    const storage = aText();
    type(storage, 150);
    const loaded = loadStorage(dumpStorage(storage));
    expect(send(loaded, updateText('3:0', '1:0', 50, [insert(0, 'X')])).rejected).toEqual([]);
    expect(send(loadStorage(dumpStorage(storage)), updateText('3:0', '1:0', 49, [insert(0, 'X')])).rejected).toHaveLength(1);
  });

  test('[LT9] a text grows to its limit and no further', () => {
    const storage = aText([['x'.repeat(VALUE_CHARACTERS_MAX - 1)]]);
    expect(send(storage, updateText('2:0', '1:0', 0, [insert(0, 'XY')]))).toEqual(rejection('2:0', /longer than/));
    expect(send(storage, updateText('2:1', '1:0', 0, [insert(0, 'X')])).rejected).toEqual([]);
  });

  test('[LT9] the attributes of its runs count, whether an edit brings them or cuts a run that has them', () => {
    const heavy = { note: 'n'.repeat(VALUE_CHARACTERS_MAX / 2) };
    const storage = aText([['abc', heavy]]);
    expect(send(storage, updateText('2:0', '1:0', 0, [insert(1, 'x')]))).toEqual(rejection('2:0', /longer than/));
    expect(send(storage, updateText('2:1', '1:0', 0, [insert(3, 'plain')])).rejected).toEqual([]);
    const format = { type: 'format', index: 3, length: 5, attributes: { note: `${heavy.note}!` } } as const;
    expect(send(storage, updateText('2:2', '1:0', 1, [format]))).toEqual(rejection('2:2', /longer than/));
  });

  test('[LT9] more work than one update may ask for is rejected before it is done', () => {
    const storage = aText();
    type(storage, 100);
    const typed = Array.from({ length: 16_000 }, (_, index) => insert(index, 'x'));
    expect(send(storage, updateText('3:0', '1:0', 0, typed))).toEqual(rejection('3:0', /too large to be merged/));
    expect(send(storage, updateText('3:1', '1:0', 100, typed))).toEqual(rejection('3:1', /too large to be merged/));
    expect(send(storage, updateText('3:2', '1:0', 100, typed.slice(0, 4_000))).rejected).toEqual([]);
  });

  test('[LT9] a history of large updates forgets the oldest, and keeps the text', () => {
    const storage = aText([]);
    for (let n = 0; n < 3; n += 1) send(storage, updateText(`2:${n}`, '1:0', n, [insert(0, 'y'.repeat(500_000))]));
    expect(send(storage, updateText('3:0', '1:0', 0, [insert(0, 'X')])).rejected).toHaveLength(1);
    expect(send(storage, updateText('3:1', '1:0', 1, [insert(0, 'X')])).rejected).toEqual([]);
  });

  test('[LT9] rejections for one reason come together', () => {
    expect(
      send(aText(), updateText('2:0', '1:0', 9, [insert(0, 'X')]), updateText('2:1', '1:0', 9, [insert(0, 'X')])).rejected,
    ).toMatchObject([{ opIds: ['2:0', '2:1'] }]);
  });

  test('[CB1] rejections for thousands of reasons come in the order of their first ops, those for one reason together', () => {
    const versions = Array.from({ length: 6_000 }, (_, at) => 1 + (at % 3_000));
    const ops = versions.map((version, at) => updateText(`2:${at}`, '1:0', version, [insert(0, 'X')]));
    const { rejected } = send(aText(), ...ops);
    expect(rejected.map(({ opIds }) => opIds)).toEqual(Array.from({ length: 3_000 }, (_, at) => [`2:${at}`, `2:${at + 3_000}`]));
  });
});

test('[LT1] a text is created in normal form, at the version its op states', () => {
  const storage = aText([['a'], ['b'], ['']], 3);
  expect(compactNodes(storage)[1]).toEqual(['1:0', 4, 'root', 'text', [['ab']], 3]);
});
