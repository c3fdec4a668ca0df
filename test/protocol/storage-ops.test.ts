import { describe, expect, test } from 'vitest';
import { checkOps, OP, type Op, type UnfitOp } from '../../src/protocol/storage-ops.ts';
import { VALUE_CHARACTERS_MAX, VALUE_KEYS_MAX, valueProblem } from '../../src/protocol/storage-values.ts';

const head = { opId: '1:0', id: '1:0', parentId: 'root', parentKey: 'k' };
const update = (data: unknown) => ({ type: OP.UPDATE_OBJECT, opId: '1:0', id: 'root', data });
const nested = (depth: number): unknown => (depth === 0 ? 0 : [nested(depth - 1)]);
const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));
const refusal = (reason: string) =>
  expect.objectContaining({ code: 'FRAME_INVALID', facts: { reason: expect.stringContaining(reason) } });

describe('ops of a client', () => {
  test('[ST17] of every kind are taken as they are, fields that we do not know too', () => {
    const ops = [
      { type: OP.CREATE_OBJECT, ...head, data: { a: [1, null] } },
      { type: OP.CREATE_LIST, ...head, intent: 'set', deletedId: '2:7' },
      { type: OP.CREATE_MAP, ...head, intent: 'push' },
      { type: OP.CREATE_REGISTER, ...head, data: null },
      { type: OP.CREATE_TEXT, ...head, data: [['a'], ['b', { bold: true }]], version: 0 },
      { type: OP.CREATE_FILE, ...head, data: { id: `fl_${'a'.repeat(21)}`, name: 'a', size: 0, mimeType: 'text/plain' } },
      { type: OP.SET_PARENT_KEY, opId: '1:1', id: '1:0', parentKey: '!' },
      update({ a: 1 }),
      { type: OP.DELETE_CRDT, opId: '1:1', id: '1:0' },
      { type: OP.DELETE_OBJECT_KEY, opId: '1:1', id: 'root', key: '' },
      {
        type: OP.UPDATE_TEXT,
        opId: '1:1',
        id: '1:0',
        baseVersion: 3,
        ops: [
          { type: 'insert', index: 0, text: 'a', attributes: { b: 1 } },
          { type: 'delete', index: 0, length: 1 },
          { type: 'format', index: 0, length: 1, attributes: { b: null } },
        ],
      },
      { ...update({}), newer: 'field' },
    ];
    expect(checkOps(ops)).toEqual(ops);
  });

  test('[ST17] of unknown codes are kept by their id alone', () => {
    expect(
      checkOps([
        { type: 99, opId: '1:3', what: 'ever' },
        { type: 12 },
        { type: 0, opId: '1:4' },
        { type: 99, opId: 'x'.repeat(64) },
      ]),
    ).toEqual([{ type: OP.UNKNOWN, opId: '1:3' }, { type: OP.UNKNOWN }, { type: OP.UNKNOWN, opId: '1:4' }, { type: OP.UNKNOWN }]);
  });

  test.each([
    [{}, 'ops is not an array'],
    [[3], 'op 0 is not an object with a number as type'],
    [[null], 'op 0 is not an object'],
    [[{ type: '3' }], 'op 0 is not an object with a number as type'],
    [[update({}), { type: OP.UPDATE_OBJECT, opId: '1:0', id: 'root' }], 'op 1 must have required properties data'],
    [[update([])], 'op 0/data must be object'],
    [[{ type: OP.UPDATE_OBJECT, id: 'root', data: {} }], 'op 0/opId is missing'],
    [[{ ...update({}), opId: 'x' }], 'op 0/opId'],
    [[{ ...update({}), opId: '-1:0' }], 'op 0/opId'],
    [[{ ...update({}), id: 'ACK' }], 'op 0/id'],
    [[{ type: OP.CREATE_LIST, ...head, id: 'root' }], 'op 0/id'],
    [[{ type: OP.CREATE_LIST, ...head, id: 'ACK' }], 'op 0/id'],
    [[{ type: OP.CREATE_LIST, ...head, intent: 'swap' }], 'op 0/intent'],
    [[{ type: OP.CREATE_TEXT, ...head, data: [['a', 'bold']], version: 0 }], 'op 0/data'],
    [[{ type: OP.CREATE_TEXT, ...head, data: 'abc', version: 0 }], 'op 0/data'],
    [[{ type: OP.CREATE_FILE, ...head, data: { id: 'fl_1', name: 'a', size: 0, mimeType: 'x' } }], 'op 0/data/id'],
    [
      [{ type: OP.CREATE_FILE, ...head, data: { id: `fl_${'a'.repeat(21)}`, name: 'a', size: -1, mimeType: 'x' } }],
      'op 0/data/size',
    ],
    [[{ type: OP.UPDATE_TEXT, opId: '1:0', id: '1:0', baseVersion: -1, ops: [] }], 'op 0/baseVersion'],
    [
      [{ type: OP.UPDATE_TEXT, opId: '1:0', id: '1:0', baseVersion: 0, ops: [{ type: 'insert', index: -1, text: '' }] }],
      'op 0/ops/0',
    ],
    [[{ type: OP.UPDATE_TEXT, opId: '1:0', id: '1:0', baseVersion: 0, ops: [{ type: 'rotate' }] }], 'op 0/ops/0'],
  ])('[ST17] %j is refused: %s', (ops, reason) => {
    expect(() => checkOps(ops)).toThrow(refusal(reason));
  });

  const format = { type: 'format', index: 0, length: 1, attributes: JSON.parse('{"prototype":1}') };
  const edit = { type: OP.UPDATE_TEXT, opId: '1:0', id: '1:0', baseVersion: 0 };
  const removal = { type: OP.DELETE_OBJECT_KEY, opId: '1:0', id: 'root', key: 'constructor' };
  const move = { type: OP.SET_PARENT_KEY, opId: '1:0', id: '1:0', parentKey: 'prototype' };
  const list = { type: OP.CREATE_LIST, ...head, parentKey: '__proto__' };
  const file = { ...list, type: OP.CREATE_FILE, data: { id: `fl_${'a'.repeat(21)}`, name: 'a', size: 0, mimeType: 'a/b' } };
  const styled = { type: OP.CREATE_TEXT, ...head, data: [['a', { b: nested(32) }]], version: 0 };
  const value = { type: OP.CREATE_REGISTER, ...head, data: nested(40) };
  const object = { type: OP.CREATE_OBJECT, ...head, data: { constructor: 1 } };
  test.each([
    [list, '/parentKey names the key "__proto__"', list],
    [file, '/parentKey names the key "__proto__"', file],
    [{ ...removal, parentKey: 'a' }, '/key names the key "constructor"', removal],
    [move, '/parentKey names the key "prototype"', move],
    [update(JSON.parse('{"a":{"__proto__":1},"b":2}')), '/data/a has the key "__proto__"', update({ a: null, b: null })],
    [update({ a: Number.POSITIVE_INFINITY }), '/data/a is not a finite number', update({ a: null })],
    [{ ...styled, intent: 'set' }, `/data/0/1/b${'/0'.repeat(31)} is nested deeper`, { ...styled, data: [] }],
    [value, `/data${'/0'.repeat(32)} is nested deeper than 32`, { ...value, data: null }],
    [object, '/data has the key "constructor"', { ...object, data: {} }],
    [{ ...edit, ops: [format] }, '/ops/0/attributes has the key "prototype"', { ...edit, ops: [] }],
  ])('[ST40] %j stays in its place, without its values: %s', (op, said, emptied) => {
    const [first, unfit] = checkOps([update({}), op]) as [Op, UnfitOp];
    expect(first).toEqual(update({}));
    expect(unfit).toEqual({
      type: OP.UNFIT,
      opId: '1:0',
      emptied,
      problem: { pointer: expect.any(String), reason: expect.any(String) },
    });
    expect(`${unfit.problem.pointer} ${unfit.problem.reason}`).toContain(said);
  });

  test('[ST40] a flaw in what we do not know of an op is one of the op', () => {
    const flawed = { type: OP.DELETE_CRDT, opId: '1:1', id: '1:0' };
    expect(checkOps([{ ...flawed, newer: 'field' }], () => 'it is odd')).toEqual([
      { type: OP.UNFIT, opId: '1:1', emptied: flawed, problem: { pointer: '', reason: 'is not taken: it is odd' } },
    ]);
  });
});

test('[ST17] a field that is no key of its op is none, whatever stands in it', () => {
  const ops = [
    { ...update({ a: 1 }), key: null, parentKey: null },
    { type: OP.DELETE_CRDT, opId: '1:1', id: '1:0', key: 'constructor', parentKey: null },
    { type: OP.CREATE_LIST, ...head, key: null },
  ];
  expect(checkOps(ops)).toEqual(ops);
});

describe('the size of a value', () => {
  test('[ST17] is bounded in depth', () => {
    expect(valueProblem(nested(32) as never)).toBeNull();
    expect(valueProblem(nested(33) as never)).toEqual({ pointer: '/0'.repeat(32), reason: 'is nested deeper than 32' });
  });

  test('[ST17] is bounded in keys, over all levels together', () => {
    expect(valueProblem(keys(VALUE_KEYS_MAX))).toBeNull();
    expect(valueProblem([keys(VALUE_KEYS_MAX), { one: 'more' }])).toEqual({ pointer: '/1', reason: 'has more than 10000 keys' });
  });

  test('[ST17] is bounded in characters', () => {
    expect(valueProblem('x'.repeat(VALUE_CHARACTERS_MAX - 3))).toBeNull();
    expect(valueProblem({ 'a/b': ['x'.repeat(VALUE_CHARACTERS_MAX)] })).toEqual({
      pointer: '/a~1b/0',
      reason: 'is longer than 2097152 characters',
    });
    const problems = checkOps([
      update({ a: 'x'.repeat(VALUE_CHARACTERS_MAX) }),
      { type: OP.CREATE_TEXT, ...head, data: [['x'.repeat(VALUE_CHARACTERS_MAX)], ['y']], version: 0 },
      { type: OP.DELETE_OBJECT_KEY, opId: '1:0', id: 'root', key: 'x'.repeat(VALUE_CHARACTERS_MAX + 1) },
    ]).map((op) => (op as UnfitOp).problem);
    expect(problems).toEqual([
      { pointer: '/data/a', reason: 'is longer than 2097152 characters' },
      { pointer: '/data', reason: 'is longer than 2097152 characters' },
      { pointer: '/key', reason: 'names a key of more than 2097152 characters' },
    ]);
  });

  test('[ST17] of a text does not count its runs: ten thousand and more of them may have attributes', () => {
    const data = Array.from({ length: VALUE_KEYS_MAX + 1 }, (_, n) => ['x', { n }]);
    expect(checkOps([{ type: OP.CREATE_TEXT, ...head, data, version: 0 }])).toHaveLength(1);
  });
});
