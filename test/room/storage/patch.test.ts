import fc from 'fast-check';
import { describe, expect, test, vi } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { CRDT, OP } from '../../../src/protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX } from '../../../src/protocol/storage-values.ts';
import { applyOps, replayOps } from '../../../src/room/storage/apply.ts';
import { dumpStorage, loadStorage } from '../../../src/room/storage/dump.ts';
import { POSITION_LENGTH_MAX } from '../../../src/room/storage/list-places.ts';
import { opsFromLson } from '../../../src/room/storage/lson.ts';
import { NODE_DEPTH_MAX } from '../../../src/room/storage/nodes.ts';
import { applyJsonPatch, checkPatch, PATCH_OPERATIONS_MAX } from '../../../src/room/storage/patch.ts';
import { PATCH_CHANGES_MAX, PATCH_COPIED_MAX } from '../../../src/room/storage/patch-places.ts';
import { REWRITTEN_RUNS_MAX } from '../../../src/room/storage/patch-steps.ts';
import { SortedKeys } from '../../../src/room/storage/sorted-keys.ts';
import { emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { compactNodes, toJson, toPlainLson } from '../../support/storage-documents.ts';
import { createRegister, FILE, newIds } from './ops.ts';

const node = (kind: string, data: Json) => ({ serviceType: kind, data });

/** { n: 1, s: 'x', plain: { a: [1] }, object: { k: 'v' }, map: { k: 1 }, list: [a, b, { c: 3 }], text: 'hello', file } */
function furnished(): Storage {
  const storage = emptyStorage();
  const document = node('LiveObject', {
    n: 1,
    s: 'x',
    plain: { a: [1] },
    object: node('LiveObject', { k: 'v' }),
    map: node('LiveMap', { k: 1 }),
    list: node('LiveList', ['a', 'b', node('LiveObject', { c: 3 })]),
    text: node('LiveText', 'hello'),
    file: node('LiveFile', FILE),
  });
  applyOps(storage, opsFromLson(document, newIds(800)), { actor: 800 });
  return storage;
}

const patch = (storage: Storage, ...operations: object[]) =>
  applyJsonPatch(storage, { operations: checkPatch(operations) }, newIds());
/** What a patch makes of the furnished Storage. */
function patched(...operations: object[]): Record<string, Json> {
  const storage = furnished();
  patch(storage, ...operations);
  return toJson(storage);
}
const kindOf = (storage: Storage, parentKey: string) => compactNodes(storage).find(([, , , key]) => key === parentKey)?.[1];
const idOf = (storage: Storage, parentKey: string) => compactNodes(storage).find(([, , , key]) => key === parentKey)?.[0];

/** Runs operations that must fail, and checks that nothing has changed. */
function refused(...operations: object[]): unknown {
  const storage = furnished();
  const before = dumpStorage(storage);
  try {
    patch(storage, ...operations);
  } catch (error) {
    expect(toJson(storage)).toEqual(toJson(furnished()));
    expect(toJson(loadStorage(dumpStorage(storage)))).toEqual(toJson(loadStorage(before)));
    return error;
  }
  throw new Error('the patch was applied');
}
const semantic = (index: number, op: string, path: string, reason: string) =>
  expect.objectContaining({
    code: 'INVALID_STORAGE_MUTATION_REQUEST',
    facts: { index, op, path, reason: expect.stringContaining(reason) },
  });
const malformed = (message: string) =>
  expect.objectContaining({ code: 'UNPROCESSABLE_ENTITY', message: expect.stringContaining(message) });

describe('add', () => {
  test('[JP1] creates or replaces a member of an object or map', () => {
    expect(
      patched(
        { op: 'add', path: '/new', value: 1 },
        { op: 'add', path: '/n', value: 'two' },
        { op: 'add', path: '/object', value: false },
      ),
    ).toMatchObject({ new: 1, n: 'two', object: false });
    expect(patched({ op: 'add', path: '/map/k', value: 2 }, { op: 'add', path: '/map/new', value: 3 }).map).toEqual({
      k: 2,
      new: 3,
    });
  });

  test('[JP1] inserts into a list at an index up to its length, or at the end', () => {
    const { list } = patched(
      { op: 'add', path: '/list/0', value: 'first' },
      { op: 'add', path: '/list/2', value: 'third' },
      { op: 'add', path: '/list/5', value: 'sixth' },
      { op: 'add', path: '/list/-', value: 'last' },
    );
    expect(list).toEqual(['first', 'a', 'third', 'b', { c: 3 }, 'sixth', 'last']);
  });

  test('[JP1] converts nested plain objects and arrays to live ones, scalars not', () => {
    const storage = furnished();
    patch(storage, { op: 'add', path: '/new', value: { o: { deep: [1, { x: null }] }, s: 'v' } });
    expect(toPlainLson(storage, 'serviceType')).toMatchObject({
      data: {
        new: node('LiveObject', {
          o: node('LiveObject', { deep: node('LiveList', [1, node('LiveObject', { x: null })]) }),
          s: 'v',
        }),
      },
    });
  });

  test('[JP1] takes nodes of all five kinds in plain LSON', () => {
    const value = {
      m: node('LiveMap', { k: [1] }),
      o: node('LiveObject', {}),
      l: node('LiveList', []),
      t: node('LiveText', 'x'),
      f: { liveblocksType: 'LiveFile', data: FILE },
    };
    const storage = furnished();
    patch(storage, { op: 'add', path: '/new', value });
    expect(toPlainLson(storage, 'serviceType')).toMatchObject({
      data: {
        new: node('LiveObject', {
          m: node('LiveMap', { k: node('LiveList', [1]) }),
          o: node('LiveObject', {}),
          l: node('LiveList', []),
          t: node('LiveText', [['x']]),
          f: node('LiveFile', FILE),
        }),
      },
    });
  });

  test('[JP1] row 66: stores null', () => {
    expect(patched({ op: 'add', path: '/nothing', value: null })).toHaveProperty('nothing', null);
  });

  test('[JP1] understands escapes and empty keys', () => {
    expect(patched({ op: 'add', path: '/a~1b~0c', value: 1 }, { op: 'add', path: '/', value: 2 })).toMatchObject({
      'a/b~c': 1,
      '': 2,
    });
  });
});

describe('remove and replace', () => {
  test('[JP2] remove takes away members, entries and items, with all below them', () => {
    const storage = furnished();
    patch(
      storage,
      { op: 'remove', path: '/n' },
      { op: 'remove', path: '/object' },
      { op: 'remove', path: '/map/k' },
      { op: 'remove', path: '/list/0' },
      { op: 'remove', path: '/text' },
    );
    expect(toJson(storage)).toEqual({ s: 'x', plain: { a: [1] }, map: {}, list: ['b', { c: 3 }], file: FILE });
  });

  test('[JP2] replace changes what is there, and an item keeps its place', () => {
    expect(
      patched(
        { op: 'replace', path: '/plain', value: 1 },
        { op: 'replace', path: '/map/k', value: [2] },
        { op: 'replace', path: '/list/1', value: { B: true } },
      ),
    ).toMatchObject({
      plain: 1,
      map: { k: [2] },
      list: ['a', { B: true }, { c: 3 }],
    });
  });

  test('[JP2] clients see a replaced item as replaced', () => {
    const storage = furnished();
    const old = compactNodes(storage).find((row) => row[4] === 'b');
    const { forwards } = patch(storage, { op: 'replace', path: '/list/1', value: 'B' });
    expect(forwards).toEqual([
      {
        type: OP.CREATE_REGISTER,
        id: '900:0',
        parentId: old?.[2],
        parentKey: old?.[3],
        intent: 'set',
        deletedId: old?.[0],
        data: 'B',
      },
    ]);
  });

  test.each<[Json, Json]>([
    ['new', [['new']]],
    ['', []],
    [
      [['a'], ['b', { i: 1 }]],
      [['a'], ['b', { i: 1 }]],
    ],
    [['a', ['b']], [['ab']]],
    [node('LiveText', 'node'), [['node']]],
  ])('[JP3] replacing a text with %j keeps the node and counts as one edit', (value, text) => {
    const storage = furnished();
    const before = idOf(storage, 'text');
    const { forwards } = patch(storage, { op: 'replace', path: '/text', value });
    expect(toJson(storage).text).toEqual(text);
    expect(idOf(storage, 'text')).toBe(before);
    expect(forwards).toMatchObject([{ type: OP.UPDATE_TEXT, id: before, version: 1 }]);
  });

  test('[JP3] an empty text can be replaced by an empty one, and add puts anything in a text’s place', () => {
    expect(patched({ op: 'replace', path: '/text', value: '' }, { op: 'replace', path: '/text', value: [] }).text).toEqual([]);
    expect(patched({ op: 'add', path: '/text', value: 3 }).text).toBe(3);
  });

  test.each(['/text', '/texts/0', '/map/text'] as const)(
    '[JP13] a text of many runs comes in place of the one at %s, so that no client takes seconds over it',
    (path) => {
      const storage = furnished();
      patch(
        storage,
        { op: 'add', path: '/texts', value: [node('LiveText', 'a'), 'b'] },
        { op: 'add', path: '/map/text', value: node('LiveText', 'a') },
      );
      const runs = (count: number) => Array.from({ length: count }, (_, at) => ['word ', { at }]);
      const ids = newIds(700);
      const replace = (value: Json) =>
        applyJsonPatch(storage, { operations: checkPatch([{ op: 'replace', path, value }]) }, ids).forwards;
      expect(replace(runs(REWRITTEN_RUNS_MAX))).toMatchObject([{ type: OP.UPDATE_TEXT }]);
      expect(replace(runs(REWRITTEN_RUNS_MAX + 1))).toMatchObject([
        { type: OP.CREATE_TEXT, data: { length: REWRITTEN_RUNS_MAX + 1 } },
      ]);
      replace(node('LiveText', runs(20_000)));
      const furniture = toJson(storage) as Record<string, any>;
      const there = { '/text': furniture.text, '/texts/0': furniture.texts[0], '/map/text': furniture.map.text };
      expect(there[path]).toEqual(runs(20_000));
      expect(furniture.texts).toHaveLength(2);
    },
  );
});

describe('move, copy and test', () => {
  test('[JP4] an item moves within its list and stays the same node', () => {
    const storage = furnished();
    const object = compactNodes(storage).find(([, , , , data]) => JSON.stringify(data) === '{"c":3}')?.[0];
    const { forwards } = patch(storage, { op: 'move', from: '/list/2', path: '/list/0' });
    expect(toJson(storage).list).toEqual([{ c: 3 }, 'a', 'b']);
    expect(forwards).toMatchObject([{ type: OP.SET_PARENT_KEY, id: object }]);
  });

  test.each([
    ['/list/0', '/list/1', ['b', 'a', { c: 3 }]],
    ['/list/0', '/list/2', ['b', { c: 3 }, 'a']],
    ['/list/0', '/list/-', ['b', { c: 3 }, 'a']],
    ['/list/1', '/list/1', ['a', 'b', { c: 3 }]],
    ['/list/2', '/list/1', ['a', { c: 3 }, 'b']],
  ])('[JP4] from %s to %s gives %j', (from, path, list) => {
    expect(patched({ op: 'move', from, path }).list).toEqual(list);
  });

  test('[CB10] items move as those of an array do, and no move reads the list whole', () => {
    const places = fc.array(fc.tuple(fc.nat(6), fc.nat(6)), { maxLength: 20 });
    const whole = vi.spyOn(SortedKeys.prototype, 'toArray');
    fc.assert(
      fc.property(places, (moves) => {
        const items = [0, 1, 2, 3, 4, 5, 6];
        const storage = furnished();
        patch(storage, { op: 'add', path: '/moved', value: items });
        whole.mockClear();
        patch(storage, ...moves.map(([from, to]) => ({ op: 'move', from: `/moved/${from}`, path: `/moved/${to}` })));
        expect(whole).not.toHaveBeenCalled();
        for (const [from, to] of moves) items.splice(to, 0, ...items.splice(from, 1));
        expect(toJson(storage).moved).toEqual(items);
      }),
    );
    whole.mockRestore();
  });

  test('[JP4] elsewhere it goes as a copy; indexes of the target count without it', () => {
    expect(patched({ op: 'move', from: '/list/0', path: '/list/1/from' }).list).toEqual(['b', { c: 3, from: 'a' }]);
    expect(patched({ op: 'move', from: '/object', path: '/map/o' })).toMatchObject({ map: { k: 1, o: { k: 'v' } } });
    expect(patched({ op: 'move', from: '/n', path: '/n' })).toEqual(toJson(furnished()));
    expect(patched({ op: 'move', from: '/map', path: '/n' })).toMatchObject({ n: { k: 1 } });
    expect(patched({ op: 'move', from: '/n', path: '/m' })).not.toHaveProperty('n');
  });

  test('[JP5] a copy is deep, keeps the kinds, and has an identity of its own', () => {
    const storage = furnished();
    patch(
      storage,
      { op: 'copy', from: '/map', path: '/map2' },
      { op: 'copy', from: '/plain', path: '/plain2' },
      { op: 'copy', from: '/text', path: '/text2' },
      { op: 'copy', from: '/list', path: '/object/list' },
      { op: 'add', path: '/map2/k', value: 2 },
    );
    expect(toPlainLson(storage, 'serviceType')).toMatchObject({
      data: {
        map: node('LiveMap', { k: 1 }),
        map2: node('LiveMap', { k: 2 }),
        plain2: { a: [1] },
        text2: node('LiveText', [['hello']]),
        object: { data: { list: node('LiveList', ['a', 'b', node('LiveObject', { c: 3 })]) } },
      },
    });
  });

  test('[ST41] what an application has under the name of kinds is replaced by the like of what is read', () => {
    const order = { serviceType: 'repair', price: 5 };
    expect(patched({ op: 'add', path: '/q', value: order }, { op: 'replace', path: '/q', value: order }).q).toEqual(order);
    expect(patched({ op: 'add', path: '/serviceType', value: 'LiveMap' })).toHaveProperty('serviceType', 'LiveMap');
  });

  test('[JP6] a test that holds changes nothing, and sees what earlier operations did', () => {
    const storage = furnished();
    const operations = [
      { op: 'test', path: '/n', value: 1 },
      { op: 'test', path: '/plain', value: { a: [1] } },
      { op: 'test', path: '/object', value: { k: 'v' } },
      { op: 'test', path: '/list', value: ['a', 'b', { c: 3 }] },
      { op: 'test', path: '/text', value: [['hello']] },
      { op: 'test', path: '/file', value: FILE },
    ];
    expect(patch(storage, ...operations).journal).toEqual([]);
    expect(patched({ op: 'add', path: '/n', value: 2 }, { op: 'test', path: '/n', value: 2 })).toHaveProperty('n', 2);
  });
});

describe('a patch that cannot be applied', () => {
  test.each<[number, object, string]>([
    [67, { op: 'remove', path: '/none' }, 'there is no key "none"'],
    [67, { op: 'replace', path: '/none', value: 1 }, 'there is no key "none"'],
    [67, { op: 'replace', path: '/map/none', value: 1 }, 'there is no key "none"'],
    [67, { op: 'add', path: '/none/a', value: 1 }, 'there is no key "none"'],
    [68, { op: 'replace', path: '/list/3', value: 1 }, 'the index 3 is out of bounds of a list of 3'],
    [68, { op: 'remove', path: '/list/3' }, 'the index 3 is out of bounds of a list of 3'],
    [68, { op: 'add', path: '/list/4', value: 1 }, 'the index 4 is out of bounds of a list of 3'],
    [68, { op: 'add', path: '/list/9/a', value: 1 }, 'the index 9 is out of bounds of a list of 3'],
    [69, { op: 'add', path: '/list/01', value: 1 }, '"01" is not a list index'],
    [69, { op: 'add', path: '/list/-1', value: 1 }, '"-1" is not a list index'],
    [69, { op: 'remove', path: '/list/1.0' }, '"1.0" is not a list index'],
    [69, { op: 'remove', path: '/list/x' }, '"x" is not a list index'],
    [69, { op: 'remove', path: '/list/' }, '"" is not a list index'],
    [70, { op: 'remove', path: '/list/-' }, 'refers to no element'],
    [70, { op: 'replace', path: '/list/-', value: 1 }, 'refers to no element'],
    [70, { op: 'test', path: '/list/-', value: 1 }, 'refers to no element'],
    [71, { op: 'add', path: '/plain/b', value: 1 }, '/plain is plain JSON'],
    [71, { op: 'test', path: '/plain/a/0', value: 1 }, '/plain is plain JSON'],
    [71, { op: 'add', path: '/n/b', value: 1 }, '/n is plain JSON'],
    [71, { op: 'add', path: '/list/0/b', value: 1 }, '/list/0 is plain JSON'],
    [71, { op: 'add', path: '/map/k/b', value: 1 }, '/map/k is plain JSON'],
    [72, { op: 'add', path: '/text/0', value: 1 }, '/text is a leaf'],
    [72, { op: 'replace', path: '/file/name', value: 1 }, '/file is a leaf'],
    [73, { op: 'replace', path: '/text', value: 3 }, 'a LiveText is replaced by a string or an array of segments'],
    [73, { op: 'replace', path: '/text', value: { a: 1 } }, 'a LiveText is replaced by a string or an array of segments'],
    [73, { op: 'replace', path: '/text', value: node('LiveMap', {}) }, 'a LiveText is replaced by'],
    [73, { op: 'replace', path: '/text', value: [['x', { b: null }]] }, 'a LiveText is replaced by'],
    [74, { op: 'test', path: '/n', value: '1' }, 'the value there is another one'],
    [74, { op: 'test', path: '/s', value: 'y' }, 'the value there is another one'],
    [74, { op: 'test', path: '/list', value: ['a', 'b'] }, 'the value there is another one'],
    [74, { op: 'test', path: '/object', value: { k: 'v', more: 1 } }, 'the value there is another one'],
    [74, { op: 'test', path: '/object', value: ['v'] }, 'the value there is another one'],
    [75, { op: 'test', path: '/none', value: null }, 'there is no key "none"'],
    [75, { op: 'test', path: '/list/3', value: null }, 'out of bounds'],
  ])('[JP7] row %i: %j', (_, operation, reason) => {
    const { op, path } = operation as { op: string; path: string };
    expect(refused(operation)).toEqual(semantic(0, op, path, reason));
  });

  test.each<[number, object, string, string]>([
    [67, { op: 'move', from: '/none', path: '/a' }, '/none', 'there is no key "none"'],
    [68, { op: 'copy', from: '/list/3', path: '/a' }, '/list/3', 'out of bounds'],
    [68, { op: 'move', from: '/list/0', path: '/list/3' }, '/list/3', 'the index 3 is out of bounds of a list of 2'],
    [70, { op: 'move', from: '/list/-', path: '/list/0' }, '/list/-', 'refers to no element'],
    [70, { op: 'copy', from: '/list/-', path: '/a' }, '/list/-', 'refers to no element'],
    [76, { op: 'move', from: '/object', path: '/object/k/inner' }, '/object/k/inner', '/object would be moved into itself'],
  ])('[JP7] row %i: %j, naming the pointer %s', (_, operation, path, reason) => {
    expect(refused(operation)).toEqual(semantic(0, (operation as { op: string }).op, path, reason));
  });

  test.each([
    [0, 'Operation 0 (test at "/s") failed: the value there is another one.'],
    [1, 'Operation 1 (add at "/f") failed: no file "fl_x" was uploaded to this room.'],
  ])('[JP11] a file that is missing fails its operation, unless one before it does: operation %i', (index, reason) => {
    const operations = checkPatch([
      { op: 'test', path: '/s', value: index === 0 ? 'y' : 'x' },
      { op: 'add', path: '/f', value: node('LiveFile', { ...FILE, id: 'fl_x' }) },
    ]);
    expect(() => applyJsonPatch(furnished(), { operations, missing: { index: 1, fileId: 'fl_x' } }, newIds())).toThrow(reason);
  });

  test('[JP7] row 76: a key that merely begins like another is not inside it', () => {
    expect(patched({ op: 'move', from: '/object', path: '/object2' })).toMatchObject({ object2: { k: 'v' } });
  });

  test('[JP7] a move whose target is gone with its source is refused', () => {
    expect(refused({ op: 'move', from: '/list/2', path: '/list/2/x' })).toEqual(semantic(0, 'move', '/list/2/x', 'into itself'));
    expect(refused({ op: 'move', from: '/list/0', path: '/list/2/x' })).toEqual(
      semantic(0, 'move', '/list/2/x', 'out of bounds'),
    );
  });

  test('[JP8] row 77: when the third operation fails nothing has changed, and the error names it', () => {
    const error = refused(
      { op: 'remove', path: '/list' },
      { op: 'replace', path: '/text', value: 'gone' },
      { op: 'test', path: '/n', value: 2 },
      { op: 'remove', path: '/n' },
    );
    expect(error).toEqual(semantic(2, 'test', '/n', 'the value there is another one'));
    expect(error).toHaveProperty(
      'message',
      'Operation 2 (test at "/n") failed: the value there is another one. Nothing was changed.',
    );
  });

  test('[JP8] row 61: a value beyond the limit is refused, naming where it is', () => {
    const long = 'x'.repeat(VALUE_CHARACTERS_MAX + 1);
    expect(refused({ op: 'add', path: '/a', value: 1 }, { op: 'add', path: '/b', value: { c: [long] } })).toEqual(
      malformed("Value at key '/1/value/c/0' is longer than"),
    );
    expect(refused({ op: 'replace', path: '/text', value: long })).toEqual(malformed("Value at key '/0/value' is longer than"));
  });

  test('[JP8] a node of an unknown kind, or a broken one, is refused as malformed', () => {
    expect(refused({ op: 'add', path: '/a', value: node('LiveSet', []) })).toEqual(
      malformed("Value at key '/0/value/serviceType' must be one of"),
    );
    expect(refused({ op: 'add', path: '/a', value: node('LiveFile', {}) })).toEqual(malformed("Missing key '/0/value/data/id'."));
  });

  test('[JP8] Storage does not nest deeper by patches than by clients', () => {
    const nested = (levels: number): Json => (levels === 0 ? 0 : { k: nested(levels - 1) });
    expect(patched({ op: 'add', path: '/a', value: nested(NODE_DEPTH_MAX) })).toHaveProperty('a');
    expect(refused({ op: 'add', path: '/object/a', value: nested(NODE_DEPTH_MAX) })).toEqual(
      semantic(0, 'add', '/object/a', 'may not be nested deeper than 1000'),
    );
  });

  test('[JP8] copies of copies end at a bound', () => {
    const copies = Array.from({ length: 40 }, (_, n) => ({ op: 'copy', from: '/all', path: `/all/copy${n}` }));
    expect(refused({ op: 'add', path: '/all', value: { o: {} } }, ...copies)).toEqual(
      semantic(14, 'copy', '/all/copy13', 'the patch copies more than 20000 nodes'),
    );
    const long = 'x'.repeat(VALUE_CHARACTERS_MAX - 100);
    const many = Array.from({ length: 20 }, () => ({ op: 'copy', from: '/list/0', path: '/list/-' }));
    expect(refused({ op: 'add', path: '/list/0', value: long }, ...many)).toEqual(
      semantic(9, 'copy', '/list/-', 'the patch writes more than 16777216 characters'),
    );
  });

  test('[CB16] a copy or move of more than may be changed is refused before any of it is made', () => {
    const storage = emptyStorage();
    const items = Array.from({ length: PATCH_COPIED_MAX }, () => 0);
    applyOps(storage, opsFromLson(node('LiveObject', { list: node('LiveList', items) }), newIds(800)), { actor: 800 });
    const ids = newIds();
    for (const op of ['copy', 'move'])
      expect(() => applyJsonPatch(storage, { operations: checkPatch([{ op, from: '/list', path: '/other' }]) }, ids)).toThrow(
        `the patch copies more than ${PATCH_COPIED_MAX} nodes`,
      );
    expect(ids.nextNodeId()).toBe('900:0');
    expect(ids.nextOpId()).toBe('900:0');
    // The list and one less are as many nodes as a patch may copy.
    patch(storage, { op: 'remove', path: '/list/0' });
    patch(storage, { op: 'copy', from: '/list', path: '/other' });
    expect(toJson(storage).other).toHaveLength(PATCH_COPIED_MAX - 1);
  });

  test('[CB66] copies and moves of one patch share a bound of nodes, whose operation is told; what a body adds itself does not count', () => {
    const storage = emptyStorage();
    const ids = newIds();
    const apply = (...operations: object[]) => applyJsonPatch(storage, { operations: checkPatch(operations) }, ids);
    const items = Array.from({ length: PATCH_COPIED_MAX }, (_, n) => ({ n }));
    apply({ op: 'add', path: '/half', value: items.slice(0, PATCH_COPIED_MAX / 2 - 1) }, { op: 'add', path: '/o', value: {} });
    const toBoth = [
      { op: 'copy', from: '/half', path: '/one' },
      { op: 'move', from: '/half', path: '/o/two' },
    ];
    const refusal = (op: string, path: string) => semantic(2, op, path, `the patch copies more than ${PATCH_COPIED_MAX} nodes`);
    for (const op of ['copy', 'move'])
      expect(() => apply(...toBoth, { op, from: '/o/two/0', path: '/three' })).toThrow(refusal(op, '/three'));
    expect(Object.keys(toJson(storage)).sort()).toEqual(['half', 'o']);
    apply(...toBoth, { op: 'add', path: '/three', value: items }, { op: 'move', from: '/one/0', path: '/one/7' });
    expect(toJson(storage).three).toHaveLength(PATCH_COPIED_MAX);
  });

  test('[CB66] a patch that may copy no more may still change, up to the bound of changes', () => {
    const storage = emptyStorage();
    const add = { op: 'add', path: '/list', value: Array.from({ length: PATCH_CHANGES_MAX - 2 }, () => 0) };
    const object = { op: 'add', path: '/o', value: {} };
    expect(() => patch(storage, add, object, { op: 'copy', from: '/o', path: '/p' })).toThrow(
      `the patch makes more than ${PATCH_CHANGES_MAX} changes`,
    );
  });

  test('[JP8] so do places in a list, where an older journal has longer ones than are taken today', () => {
    const storage = withLongPlace(` ${' '.repeat(VALUE_CHARACTERS_MAX - 100)}!`);
    const many = Array.from({ length: 40 }, (_, value) => ({ op: 'replace', path: '/list/0', value }));
    expect(() => patch(storage, ...many)).toThrow('the patch writes more than 16777216 characters');
    expect((toJson(storage).list as Json[]).filter((item) => typeof item === 'number')).toEqual([]);
  });

  test('[CB12] no place in a list may be longer than those of clients', () => {
    const storage = withLongPlace('~'.repeat(POSITION_LENGTH_MAX));
    const push = { op: 'add', path: '/list/-', value: 1 };
    expect(() => patch(storage, push)).toThrow(`A position in a list may not be longer than ${POSITION_LENGTH_MAX} characters`);
    patch(storage, { op: 'replace', path: '/list/3', value: 'new' });
    expect(toJson(storage).list).toEqual(['a', 'b', { c: 3 }, 'new']);
  });

  function withLongPlace(place: string): Storage {
    const storage = furnished();
    replayOps(storage, [createRegister('1:0', '1:0', idOf(storage, 'list')!, place, 'long')]);
    return storage;
  }
});

describe('what is no patch at all', () => {
  test.each<[number, unknown, string]>([
    [62, {}, 'must be an array of operations'],
    [62, [3], "Value at key '/0' must be an object."],
    [63, [{ op: 'remove', path: 'score' }], "Value at key '/0/path' is not a JSON pointer: it must start with a slash."],
    [63, [{ op: 'remove', path: '' }], "Value at key '/0/path' is not a JSON pointer: it must start with a slash."],
    [63, [{ op: 'remove', path: '/a~2' }], "Value at key '/0/path' is not a JSON pointer: ~ must be followed by 0 or 1."],
    [63, [{ op: 'remove', path: 3 }], "Value at key '/0/path' must be a string."],
    [63, [{ op: 'move', path: '/a', from: 'b' }], "Value at key '/0/from' is not a JSON pointer"],
    [
      63,
      [{ op: 'add', path: '/__proto__/a', value: 1 }],
      'Value at key \'/0/path\' names the key "__proto__", which is not allowed.',
    ],
    [64, [{ op: 'merge', path: '/a' }], "Value at key '/0/op' must be one of add, remove, replace, move, copy, test."],
    [64, [{ op: 'toString', path: '/a' }], "Value at key '/0/op' must be one of"],
    [64, [{ path: '/a' }], "Missing key '/0/op'."],
    [
      65,
      [
        { op: 'remove', path: '/a' },
        { op: 'add', path: '/a' },
      ],
      "Missing key '/1/value'.",
    ],
    [65, [{ op: 'move', path: '/a' }], "Missing key '/0/from'."],
    [65, [{ op: 'test', value: 1 }], "Missing key '/0/path'."],
    [10, [{ op: 'remove', path: '/a', value: 1 }], "Value at key '/0/value' is not expected in the operation remove."],
  ])('[JP9] row %i: %j', (_, body, message) => {
    expect(() => checkPatch(body)).toThrow(malformed(message));
  });

  test('[JP9] an empty patch changes nothing; a patch has so many operations and no more', () => {
    expect(patch(furnished())).toMatchObject({ journal: [], forwards: [] });
    const many = Array.from({ length: PATCH_OPERATIONS_MAX }, () => ({ op: 'remove', path: '/a' }));
    expect(checkPatch(many)).toHaveLength(PATCH_OPERATIONS_MAX);
    expect(() => checkPatch([...many, many[0]])).toThrow(malformed('must not have more than 1000 operations'));
  });
});

describe('what follows from a patch', () => {
  /** Any operations on a small document; most of them fail somewhere. */
  const path = fc.constantFrom(
    '/n',
    '/object',
    '/object/k',
    '/map',
    '/map/k',
    '/list',
    '/list/0',
    '/list/2',
    '/list/-',
    '/text',
    '/file',
    '/new',
    '/new/a',
    '/list/2/c',
  );
  const value = fc.constantFrom<Json[]>(null, 1, 'x', [], { a: [1] }, [['t']], node('LiveMap', { k: 1 }));
  const operation = fc.oneof(
    fc.record({ op: fc.constantFrom('add', 'replace', 'add'), path, value }),
    fc.record({ op: fc.constantFrom('move', 'copy'), from: path, path }),
    fc.record({ op: fc.constant('remove'), path }),
  );

  test('[JP10] the journal replays, and the forwards lead clients, to the same nodes; a refused patch leaves no trace', () => {
    fc.assert(
      fc.property(fc.array(fc.array(operation, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 6 }), (patches) => {
        const live = furnished();
        const replayed = furnished();
        const client = furnished();
        const ids = newIds();
        for (const operations of patches) {
          const before = toJson(live);
          try {
            const { journal, forwards } = applyJsonPatch(live, { operations: checkPatch(operations) }, ids);
            replayOps(replayed, journal);
            replayOps(client, forwards);
          } catch (error) {
            expect(error).toHaveProperty('code', 'INVALID_STORAGE_MUTATION_REQUEST');
            expect(toJson(live)).toEqual(before);
          }
        }
        const nodes = (storage: Storage) => compactNodes(storage).sort(([a], [b]) => (a < b ? -1 : 1));
        expect(nodes(replayed)).toEqual(nodes(live));
        expect(nodes(client)).toEqual(nodes(live));
        // In any order: a change that was taken back may have put its node last.
        const histories = (storage: Storage) => Object.fromEntries(JSON.parse(dumpStorage(storage) as string).histories);
        expect(histories(replayed)).toEqual(histories(live));
      }),
      { numRuns: 500 },
    );
  });

  test('[JP10] nobody but the caller of a patch gets its acks', () => {
    const storage = furnished();
    const { forwards, journal } = patch(storage, { op: 'add', path: '/list/-', value: { a: { b: 1 } } });
    expect(forwards.map(({ opId }) => opId)).toEqual([undefined, undefined]);
    expect(journal.map(({ opId }) => opId)).toEqual(['900:0', '900:1']);
    expect(kindOf(storage, 'a')).toBe(CRDT.OBJECT);
  });
});
