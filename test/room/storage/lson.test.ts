import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { textIn } from '../../../src/base/pieces.ts';
import { OP } from '../../../src/protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX } from '../../../src/protocol/storage-values.ts';
import { applyOps } from '../../../src/room/storage/apply.ts';
import { filesInDocument, filesInOps } from '../../../src/room/storage/file-references.ts';
import { opsFromLson } from '../../../src/room/storage/lson.ts';
import { NODE_DEPTH_MAX } from '../../../src/room/storage/nodes.ts';
import { documentText, TextWriter } from '../../../src/room/storage/texts.ts';
import { emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { toJson, toPlainLson } from '../../support/storage-documents.ts';
import { createFile, createMap, createRegister, FILE, newIds, send, storageOf, updateObject } from './ops.ts';

const live = (typeKey: string) => (kind: string, data: Json) => ({ [typeKey]: kind, data });
const node = live('serviceType');
const root = (data: Json) => node('LiveObject', data);

function initialised(document: Json): Storage {
  const storage = emptyStorage();
  applyOps(storage, opsFromLson(document, newIds()), { actor: 900 });
  return storage;
}

const everything = (of: ReturnType<typeof live>) =>
  of('LiveObject', {
    plain: { deep: [1, { two: 3 }], nothing: null },
    object: of('LiveObject', { list: of('LiveList', [1, 'two', { three: 4 }, of('LiveList', [3]), of('LiveText', [['t']])]) }),
    map: of('LiveMap', { k: of('LiveObject', { a: 1 }), '€/~': 'v', plain: [1] }),
    text: of('LiveText', [['he'], ['llo', { bold: true }]]),
    file: of('LiveFile', FILE),
    '': 0,
  });

describe('documents that are read', () => {
  test.each(['serviceType', 'liveblocksType'])(
    '[ST23] keep the kinds of all nodes in plain LSON, under the key %s',
    (typeKey) => {
      const document = everything(live(typeKey));
      expect(toPlainLson(initialised(document), typeKey)).toEqual(document);
    },
  );

  test('[ST23] simplify in JSON: objects and maps are objects, lists arrays, texts their segments, files their metadata', () => {
    expect(toJson(initialised(everything(node)))).toEqual({
      plain: { deep: [1, { two: 3 }], nothing: null },
      object: { list: [1, 'two', { three: 4 }, [3], [['t']]] },
      map: { k: { a: 1 }, '€/~': 'v', plain: [1] },
      text: [['he'], ['llo', { bold: true }]],
      file: FILE,
      '': 0,
    });
  });

  test('[ST23] of a room that has no Storage are an empty object', () => {
    expect(toPlainLson(emptyStorage(), 'serviceType')).toEqual({ serviceType: 'LiveObject', data: {} });
    expect(toJson(emptyStorage())).toEqual({});
  });

  test('[ST23] are the same text however they are cut into parts', () => {
    const names = { 'with "quotes"': -0, '\u2028': 1e21, tenth: 0.1, 7: true, emoji: '\u{1f600}\n' };
    const document = root({
      ...(everything(node) as { data: object }).data,
      names,
      empty: node('LiveMap', {}),
      none: node('LiveList', []),
    });
    const storage = initialised(document);
    for (const form of [{ format: 'plain-lson', typeKey: 'serviceType' } as const, { format: 'json', typeKey: '' } as const]) {
      const whole = documentText(storage, form);
      const writer = new TextWriter(storage, form);
      let parts = 1;
      while (!writer.write(1)) parts += 1;
      expect(parts).toBeGreaterThan(10);
      expect(textIn(writer.done())).toBe(whole);
      expect(JSON.stringify(JSON.parse(whole))).toBe(whole);
    }
    expect(toPlainLson(storage, 'serviceType')).toEqual(JSON.parse(JSON.stringify(document)));
  });

  test('[ST23] show a register under an object as a plain value', () => {
    expect(toPlainLson(storageOf(createRegister('1:0', '1:0', 'root', 'k', [1])), 'serviceType')).toEqual(root({ k: [1] }));
  });
});

describe('a document that initialises Storage', () => {
  test('[ST24] may hold values as deep as clients may set: what is read of one room fills another', () => {
    const deep = JSON.parse('['.repeat(32) + ']'.repeat(32)) as Json;
    const storage = storageOf(updateObject('1:0', 'root', { deep }));
    expect(toPlainLson(initialised(toPlainLson(storage, 'serviceType')), 'serviceType')).toEqual(
      toPlainLson(storage, 'serviceType'),
    );
  });

  test('[ST24] becomes ops with fresh ids, plain values of the root first, parents before children', () => {
    const ids = newIds();
    const ops = opsFromLson(root({ list: node('LiveList', ['a', node('LiveMap', { k: 1 })]), title: 'x' }), ids);
    expect(ops.map(({ type }) => type)).toEqual([
      OP.UPDATE_OBJECT,
      OP.CREATE_LIST,
      OP.CREATE_REGISTER,
      OP.CREATE_MAP,
      OP.CREATE_REGISTER,
    ]);
    expect(new Set(ops.map(({ opId }) => opId)).size).toBe(ops.length);
    expect(ops[0]).toMatchObject({ id: 'root', data: { title: 'x' } });
  });

  test('[ST24] that is empty makes no ops', () => {
    expect(opsFromLson(root({}), newIds())).toEqual([]);
  });

  test('[ST24] may use both type keys, write text as a string or with bare segments, and state a version', () => {
    const storage = initialised({
      serviceType: 'LiveObject',
      data: {
        a: { liveblocksType: 'LiveText', data: 'plain', version: 7 },
        b: node('LiveText', ['x', ['y'], ['z', { i: 1 }]]),
        c: node('LiveText', ''),
      },
    });
    expect(toJson(storage)).toEqual({ a: [['plain']], b: [['xy'], ['z', { i: 1 }]], c: [] });
  });

  test('[ST24] nests as deep as Storage may, and no deeper', () => {
    const chain = (depth: number): Json => root(depth === 0 ? {} : { k: chain(depth - 1) });
    expect(JSON.stringify(toPlainLson(initialised(chain(NODE_DEPTH_MAX)), 'serviceType'))).toContain('"data":{}}}');
    expect(() => opsFromLson(chain(NODE_DEPTH_MAX + 1), newIds())).toThrow(
      expect.objectContaining({ code: 'UNPROCESSABLE_ENTITY', message: expect.stringContaining('is nested deeper than 1000') }),
    );
  });

  test.each<[string, Json, string]>([
    ['row 58: a LiveList', node('LiveList', []), "Value at key 'serviceType' must be 'LiveObject': the root of Storage is one."],
    ['row 58: without data', { serviceType: 'LiveObject' }, "Missing key 'data'."],
    ['row 58: without a kind', { data: {} }, "Missing key 'serviceType'."],
    ['an array', [], 'A Storage document must be an object.'],
    ['data that is no object', root([]), "Value at key '/data' must be an object."],
    [
      'row 59: an unknown kind',
      root({ a: node('LiveList', [1, node('LiveSet', [])]) }),
      "Value at key '/data/a/data/1/serviceType' must be one of LiveObject, LiveList, LiveMap, LiveText, LiveFile.",
    ],
    [
      'a kind in lower case',
      root({ 'a/b': node('LiveMap', { k: { liveblocksType: 'Livemap', data: {} } }) }),
      "Value at key '/data/a~1b/data/k/liveblocksType' must be one of",
    ],
    ['a root of an unknown kind', { serviceType: 'repair', data: {} }, "Value at key '/serviceType' must be one of"],
    ['a node without data', root({ a: { serviceType: 'LiveMap' } }), "Missing key '/data/a/data'."],
    [
      'a node with more than a node has',
      root({ a: { ...node('LiveMap', {}), id: 1 } }),
      "Value at key '/data/a/id' is not expected: a LiveMap has serviceType and data.",
    ],
    [
      'a node with both type keys',
      root({ a: { ...node('LiveMap', {}), liveblocksType: 'LiveMap' } }),
      "Value at key '/data/a/liveblocksType' is not expected",
    ],
    ['a list that is no array', root({ a: node('LiveList', {}) }), "Value at key '/data/a/data' must be an array."],
    ['a map that is no object', root({ a: node('LiveMap', []) }), "Value at key '/data/a/data' must be an object."],
    [
      'a text that is a number',
      root({ a: node('LiveText', 1) }),
      "Value at key '/data/a/data' must be a string or an array of segments",
    ],
    [
      'a text with a null attribute',
      root({ a: node('LiveText', [['x', { b: null }]]) }),
      "Value at key '/data/a/data' must be a string or an array of segments",
    ],
    ['a text with a segment of three', root({ a: node('LiveText', [['x', {}, 1]]) }), "Value at key '/data/a/data' must be"],
    [
      'a file of a wrong id',
      root({ a: node('LiveFile', { ...FILE, id: 'fl_x' }) }),
      "Value at key '/data/a/data/id' must be fl_ and 21 letters, digits, _ or -.",
    ],
    ['a file that is no object', root({ a: node('LiveFile', 'x') }), "Value at key '/data/a/data' must be an object."],
    [
      'a file with a key too many',
      root({ a: node('LiveFile', { ...FILE, url: 'x' }) }),
      "Value at key '/data/a/data/url' is not expected: a file has id, name, size, mimeType.",
    ],
    [
      'a file with half a byte',
      root({ a: node('LiveFile', { ...FILE, size: 0.5 }) }),
      "Value at key '/data/a/data/size' must be an integer of at least 0.",
    ],
    [
      'a file with a name of 1,025',
      root({ a: node('LiveFile', { ...FILE, name: 'x'.repeat(1_025) }) }),
      "Value at key '/data/a/data/name' must be a string of at most 1024 characters.",
    ],
    [
      'a file with a type of 257',
      root({ a: node('LiveFile', { ...FILE, mimeType: 'x'.repeat(257) }) }),
      "Value at key '/data/a/data/mimeType' must be a string of at most 256 characters.",
    ],
    [
      'a file that lacks its size',
      root({ a: node('LiveFile', { id: FILE.id, name: 'x', mimeType: 'y' }) }),
      "Missing key '/data/a/data/size'.",
    ],
    [
      'a node inside plain JSON',
      root({ a: { b: [node('LiveList', [])] } }),
      "Value at key '/data/a/b/0' is a node inside plain JSON",
    ],
    [
      'row 61: a value beyond the limit',
      root({ a: node('LiveMap', { k: ['x'.repeat(VALUE_CHARACTERS_MAX)] }) }),
      "Value at key '/data/a/data/k/0' is longer than 2097152 characters.",
    ],
    [
      'row 61: plain values that are too large together',
      root({ a: 'x'.repeat(VALUE_CHARACTERS_MAX - 20), b: 'x'.repeat(20) }),
      "Value at key '/data/b' is longer than 2097152 characters.",
    ],
    [
      'row 61: a text beyond the limit',
      root({ a: node('LiveText', 'x'.repeat(VALUE_CHARACTERS_MAX + 1)) }),
      "Value at key '/data/a/data' is longer than 2097152 characters.",
    ],
    [
      'a key that reaches a prototype',
      root(JSON.parse('{"__proto__":{"serviceType":"LiveMap","data":{}}}')),
      'Value at key \'/data\' has the key "__proto__", which is not allowed.',
    ],
    [
      'such a key in plain JSON',
      root({ a: JSON.parse('[{"constructor":1}]') }),
      'Value at key \'/data/a/0\' has the key "constructor", which is not allowed.',
    ],
  ])('[ST25] is refused when it is, or has, %s', (_, document, message) => {
    expect(() => opsFromLson(document, newIds())).toThrow(
      expect.objectContaining({ code: 'UNPROCESSABLE_ENTITY', message: expect.stringContaining(message) }),
    );
  });

  test('[ST25] may have plain JSON that merely looks like a node', () => {
    const document = root({ a: { inner: { serviceType: 'plumbing' } } });
    expect(toPlainLson(initialised(document), 'serviceType')).toEqual(document);
  });

  test.each(['serviceType', 'liveblocksType'])('[ST41] keeps what an application has under the name %s', (key) => {
    const orders = [{ [key]: 'repair', price: 5 }, { [key]: 'repair', data: {}, at: 1 }, { [key]: 3 }, { [key]: null }];
    const list = node('LiveList', [...orders, node('LiveMap', { [key]: 'repair' })]);
    const document = root({ [key]: 'alive', q: orders[0]!, list });
    expect(toPlainLson(initialised(document), 'serviceType')).toEqual(document);
    expect(toPlainLson(storageOf(updateObject('1:0', 'root', { q: orders[0]! })), 'serviceType')).toEqual(
      root({ q: orders[0]! }),
    );
  });
});

describe('files that a change refers to', () => {
  test('[ST26] are found in ops', () => {
    expect(filesInOps([createMap('1:0', '1:0', 'root', 'map'), createFile('1:1', '1:1', '1:0', 'k')])).toEqual([
      { fileId: FILE.id, pointer: '/1/data/id' },
    ]);
  });

  test('[ST26] are found in documents and patches, under either type key, however deep', () => {
    const deep = (depth: number): Json => (depth === 0 ? node('LiveFile', FILE) : [deep(depth - 1)]);
    expect(filesInDocument(root({ 'a/b': live('liveblocksType')('LiveFile', FILE), c: 1 }))).toEqual([
      { fileId: FILE.id, pointer: '/data/a~1b/data/id' },
    ]);
    expect(filesInDocument([{ op: 'add', path: '/f', value: deep(2_000) }])).toEqual([
      { fileId: FILE.id, pointer: `/0/value${'/0'.repeat(2_000)}/data/id` },
    ]);
    const two = [1, 2].map((n) => ({ op: 'add', value: { ...live('liveblocksType')('LiveFile', { ...FILE, id: `fl_${n}` }) } }));
    expect(filesInDocument(two).map(({ pointer }) => pointer)).toEqual(['/0/value/data/id', '/1/value/data/id']);
    expect(filesInDocument([node('LiveFile', null), node('LiveFile', { id: 3 }), { serviceType: 'LiveFile' }])).toEqual([]);
  });
});

test('[ST24] an initialised Storage goes on like any other', () => {
  const storage = initialised(root({ list: node('LiveList', ['a']) }));
  send(storage, createRegister('1:0', '1:0', '900:0', '!', 'b', { intent: 'push' }));
  expect(toJson(storage)).toEqual({ list: ['a', 'b'] });
});
