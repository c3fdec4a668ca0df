/** What edits of texts cost, those of one message together: counted, and refused before anything changed (reliability 2.f). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { JsonObject } from '../../../src/base/json.ts';
import type { LiveTextData, TextOperation } from '../../../src/protocol/storage-ops.ts';
import type { TextNode } from '../../../src/room/storage/nodes.ts';
import { applyJsonPatch } from '../../../src/room/storage/patch.ts';
import { editText, editTextWithin, normalText } from '../../../src/room/storage/text.ts';
import { PAIRS_MAX, PASSED_RUNS_MAX, TextWork } from '../../../src/room/storage/text-work.ts';
import type { Storage } from '../../../src/room/storage/tree.ts';
import { aText, textOperations } from './arbitraries.ts';
import { createText, newIds, send, storageOf, updateText } from './ops.ts';

const insert = (index: number, text: string): TextOperation => ({ type: 'insert', index, text });
/** So many runs of two characters, no two alike. */
const runs = (count: number): LiveTextData => Array.from({ length: count }, (_, n) => ['ab', { n }]);
const keys = (count: number): JsonObject => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, 1]));
const texts = (...data: LiveTextData[]) =>
  storageOf(...data.map((one, n) => createText(`1:${n}`, `1:${n}`, 'root', `text${n}`, one)));
const textOf = (storage: Storage, id = '1:0') => storage.nodes.get(id) as TextNode;
const TOO_LARGE = 'The edit is too large to be merged with what came before it';
const reasons = (rejected: readonly { readonly reason: string }[]) => rejected.map(({ reason }) => reason);

describe('what is left to a message', () => {
  test('[CB4] is taken until less is left; what is refused takes nothing', () => {
    const work = new TextWork();
    expect([work.takeRuns(PASSED_RUNS_MAX), work.takeRuns(1), work.takeRuns(0)]).toEqual([true, false, true]);
    expect([work.takePairs(1), work.takePairs(PAIRS_MAX), work.hasPairs(PAIRS_MAX - 1)]).toEqual([true, false, true]);
    expect([work.takePairs(PAIRS_MAX - 1), work.hasPairs(1)]).toEqual([true, false]);
  });
});

describe('a format', () => {
  const all = (count: number, attributes: JsonObject): TextOperation => ({
    type: 'format',
    index: 0,
    length: 2 * count,
    attributes,
  });

  test('[CB3] of more keys and runs than a message may cost is refused before it is made, whatever became of the text', () => {
    const storage = texts(runs(6_000));
    const { data, version } = textOf(storage);
    const undo: TextOperation = { type: 'delete', index: 0, length: 12_000 }; // the text would not be too long in the end
    const { rejected, journal } = send(storage, updateText('2:0', '1:0', 0, [all(6_000, keys(10_000)), undo]));
    expect([reasons(rejected), journal]).toEqual([[TOO_LARGE], []]);
    expect(textOf(storage)).toMatchObject({ data, version });
  });

  test('[CB3] of keys that the runs have, and not the operation, costs as much', () => {
    const heavy: LiveTextData = Array.from({ length: 400 }, (_, n) => ['ab', { ...keys(1_400), n }]);
    expect(reasons(send(texts(heavy), updateText('2:0', '1:0', 0, [all(400, { b: 1 })])).rejected)).toEqual([TOO_LARGE]);
  });

  test('[CB3] of a long text, as one makes it bold, is made', () => {
    const storage = texts(runs(20_000));
    expect(send(storage, updateText('2:0', '1:0', 0, [all(20_000, { bold: true })])).rejected).toEqual([]);
    expect(textOf(storage).data[7]).toEqual(['ab', { n: 7, bold: true }]);
  });
});

describe('edits of texts', () => {
  test('[CB4] of one message have one price together, whichever texts they change; the next message begins anew', () => {
    const storage = texts(runs(30_000), runs(30_000));
    const ops = Array.from({ length: 120 }, (_, n) => updateText(`2:${n}`, `1:${n % 2}`, 0, [insert(30_000, 'x')]));
    const { rejected, journal } = send(storage, ...ops);
    expect(reasons(rejected)).toEqual([TOO_LARGE]);
    const applied = journal.length;
    expect(applied + rejected[0]!.opIds.length).toBe(120);
    expect(rejected[0]!.opIds).toEqual(ops.slice(applied).map(({ opId }) => opId));
    expect([applied > 20, applied < 80]).toEqual([true, true]);
    const { version } = textOf(storage);
    expect(send(storage, updateText('2:99', '1:0', version, [insert(30_000, 'x')])).rejected).toEqual([]);
  });

  test('[CB71] of a long text pay for its characters, for each edit may have V8 copy all of it', () => {
    const storage = texts([['x'.repeat(1_000_000)]]);
    const ops = Array.from({ length: 300 }, (_, n) => updateText(`2:${n}`, '1:0', n, [insert(n % 2 === 0 ? 10 : 900_000, 'y')]));
    const { rejected, journal } = send(storage, ...ops);
    expect([journal.length > 150, journal.length < 250]).toEqual([true, true]);
    expect(rejected.flatMap(({ opIds }) => opIds)).toHaveLength(300 - journal.length);
  });

  test('[CB71] that are typed at many places of a long text are taken as one edit', () => {
    const storage = texts([['x'.repeat(1_000_000)]]);
    const typed = Array.from({ length: 10_000 }, (_, n) => insert(n % 2 === 0 ? 10 : 900_000, 'y'));
    expect(send(storage, updateText('2:0', '1:0', 0, typed)).rejected).toEqual([]);
  });

  test('[CB4] of thousands of short texts, one each, are applied in one message', () => {
    const storage = texts(...Array.from({ length: 2_000 }, (): LiveTextData => [['abc']]));
    const ops = Array.from({ length: 2_000 }, (_, n) => updateText(`2:${n}`, `1:${n}`, 0, [insert(1, 'x')]));
    expect(send(storage, ...ops).journal).toHaveLength(2_000);
  });

  test('[CB4] by one patch have one price together, and the patch is refused whole', () => {
    const storage = texts([['abc']]);
    const replace = { op: 'replace', path: '/text0', value: { liveblocksType: 'LiveText', data: runs(500) } } as const;
    const patch = (count: number) =>
      applyJsonPatch(storage, { operations: Array.from({ length: count }, () => replace) }, newIds());
    expect(() => patch(1_000)).toThrow(expect.objectContaining({ code: 'INVALID_STORAGE_MUTATION_REQUEST' }));
    expect(textOf(storage)).toMatchObject({ data: [['abc']], version: 0 });
    patch(2);
    expect(textOf(storage).data).toHaveLength(500);
  });

  test('[CB5] leave the normal form, and the same with a price as without', () => {
    fc.assert(
      fc.property(aText, textOperations(14), (data, operations) => {
        const start = normalText(data);
        const edited = editText(start, operations);
        expect(edited.data).toEqual(normalText(edited.data));
        expect(editTextWithin(start, operations, new TextWork())).toEqual(edited);
        expect(editText(start, edited.operations)).toEqual(edited);
      }),
      { numRuns: 500 },
    );
  });
});

describe('edits that are moved over others', () => {
  const many = (count: number, operation: (n: number) => TextOperation) => Array.from({ length: count }, (_, n) => operation(n));

  test('[CB6] pay together for each pair of operations that meets', () => {
    const storage = texts([['abc']], [['abc']]);
    const before = many(400, () => insert(0, 'y'));
    send(storage, updateText('3:0', '1:0', 0, before), updateText('3:1', '1:1', 0, before));
    const typed = many(3_000, (n) => insert(n, 'x'));
    const { rejected, journal } = send(storage, updateText('2:0', '1:0', 0, typed), updateText('2:1', '1:1', 0, typed));
    expect([reasons(rejected), journal.length]).toEqual([[TOO_LARGE], 1]);
    expect(send(storage, updateText('2:2', '1:1', 0, typed)).rejected).toEqual([]);
  });

  test('[CB6] pay for the pieces of a range that others typed into', () => {
    const storage = texts([['z'.repeat(20_000)]]);
    send(
      storage,
      updateText(
        '3:0',
        '1:0',
        0,
        many(5_000, (n) => insert(3 * n + 1, 'y')),
      ),
    );
    const { data } = textOf(storage);
    const all: TextOperation = { type: 'delete', index: 0, length: 20_000 };
    expect(reasons(send(storage, updateText('2:0', '1:0', 0, [all])).rejected)).toEqual([TOO_LARGE]);
    expect(textOf(storage).data).toBe(data);
    expect(send(storage, updateText('2:1', '1:0', 1, [all])).rejected).toEqual([]);
  });
});

describe('an edit that its client has made once more by itself', () => {
  const echoed = (known: readonly TextOperation[], resent: readonly TextOperation[]) => {
    const storage = texts([['abc']]);
    send(storage, updateText('2:0', '1:0', 0, [...known]));
    send(storage, updateText('2:0', '1:0', 1, []), updateText('2:1', '1:0', 1, [...resent]));
    return textOf(storage).data;
  };

  test('[CB7] is looked for while that costs no more than a message may', () => {
    const typed = Array.from({ length: 1_000 }, (_, n) => insert(n, 'x'));
    const behind = Array.from({ length: 1_000 }, () => insert(0, 'y'));
    expect(echoed(typed, [...behind, ...typed])).toEqual([[`${'y'.repeat(1_000)}${'x'.repeat(1_000)}abc`]]);
  });

  test('[CB7] is an edit like any other when it is too much to look for', () => {
    const known = [...Array.from({ length: 1_999 }, () => insert(0, 'x')), insert(0, 'q')];
    const resent = [insert(0, 'y'), ...known, ...Array.from({ length: 4_000 }, () => insert(0, 'x'))];
    expect(echoed(known, resent)[0]![0].replaceAll('x', '')).toBe('qyqabc');
  });
});

test('[CB8] a known edit that comes again and again in one message is looked at while that costs no more than a message may', () => {
  const storage = texts([['abc']]);
  const known = [insert(0, 'x'.repeat(500_000))];
  send(storage, updateText('2:0', '1:0', 0, known));
  const again = Array.from({ length: 600 }, () => updateText('2:0', '1:0', 1, known));
  const { rejected, replies, journal } = send(storage, ...again);
  expect([reasons(rejected), journal]).toEqual([[TOO_LARGE], []]);
  expect(replies.length + rejected[0]!.opIds.length).toBe(600);
  expect(replies.length).toBeGreaterThan(80);
  expect(send(storage, again[0]!).rejected).toEqual([]);
});

describe('an edit that is known, in a text of many edits', () => {
  const known = [insert(0, 'x')];
  const edited = () => {
    const storage = texts([['abc']]);
    send(storage, ...Array.from({ length: 1_000 }, (_, n) => updateText(`2:${n}`, '1:0', n, known)));
    return storage;
  };

  test('[CB72] is looked for at a price of those edits: sent thousands of times in one message it is too much', () => {
    const storage = edited();
    const again = Array.from({ length: 6_000 }, () => updateText('2:3', '1:0', 1_000, known));
    const { rejected, replies, journal } = send(storage, ...again);
    expect([reasons(rejected), journal]).toEqual([[TOO_LARGE], []]);
    expect([replies.length > 4_000, replies.length + rejected[0]!.opIds.length]).toEqual([true, 6_000]);
    expect(send(storage, again[0]!).rejected).toEqual([]);
  });

  test('[CB74] is not looked for of empty ones that are not known, as an undo of thousands of edits has', () => {
    const storage = edited();
    const empty = Array.from({ length: 6_000 }, (_, n) => updateText(`4:${n}`, '1:0', 1_000, []));
    const { rejected, journal } = send(storage, ...empty, updateText('3:0', '1:0', 1_000, [insert(0, 'y')]));
    expect([rejected, journal.length]).toEqual([[], 1]);
  });

  test('[CB72] is no longer looked for behind empty ones when those have cost as much', () => {
    const storage = edited();
    const empty = Array.from({ length: 6_000 }, () => updateText('2:3', '1:0', 1_000, []));
    const { rejected, journal } = send(storage, ...empty, updateText('3:0', '1:0', 1_000, [insert(0, 'y')]));
    expect([reasons(rejected), journal]).toEqual([[TOO_LARGE], []]);
  });
});

describe('what was typed in many texts while offline', () => {
  test('[CB9] comes in one message, an operation for each key, and is taken', () => {
    const storage = texts(...Array.from({ length: 10 }, (): LiveTextData => [['abc']]));
    const typed = Array.from({ length: 2_300 }, (_, n) => insert(n, 'x'));
    const ops = Array.from({ length: 10 }, (_, n) => updateText(`2:${n}`, `1:${n}`, 0, typed));
    expect(send(storage, ...ops).rejected).toEqual([]);
    const long = texts([['abc']], [['abc']], [['abc']]);
    const keys5100 = Array.from({ length: 5_100 }, (_, n) => insert(n, 'x'));
    expect(send(long, ...[0, 1, 2].map((n) => updateText(`2:${n}`, `1:${n}`, 0, keys5100))).rejected).toEqual([]);
  });

  test('[CB9] also where others typed meanwhile: it stands where it was typed, in each of the texts', () => {
    const storage = texts([['hello world']], [['hello world']], [['hello world']]);
    const others = Array.from({ length: 300 }, () => insert(0, 'o'));
    send(storage, ...[0, 1, 2].map((n) => updateText(`3:${n}`, `1:${n}`, 0, others)));
    const typed = Array.from({ length: 1_000 }, (_, n) => insert(5 + n, 'x'));
    expect(send(storage, ...[0, 1, 2].map((n) => updateText(`2:${n}`, `1:${n}`, 0, typed))).rejected).toEqual([]);
    for (const n of [0, 1, 2])
      expect(textOf(storage, `1:${n}`).data).toEqual([[`${'o'.repeat(300)}hello${'x'.repeat(1_000)} world`]]);
  });
});
