import { describe, expect, test } from 'vitest';
import type { Json } from '../../../src/base/json.ts';
import { compileSchema } from '../../../src/room/schema/compile.ts';
import { matchStorage } from '../../../src/room/schema/match.ts';
import { applyOps } from '../../../src/room/storage/apply.ts';
import { opsFromLson } from '../../../src/room/storage/lson.ts';
import { emptyStorage, type Storage } from '../../../src/room/storage/tree.ts';
import { FILE, newIds } from '../storage/ops.ts';

const live = (kind: string, data: unknown) => ({ serviceType: kind, data }) as Json;
const object = (data: unknown = {}) => live('LiveObject', data);
const list = (...items: unknown[]) => live('LiveList', items);
const map = (data: unknown = {}) => live('LiveMap', data);
const text = live('LiveText', [['hi']]);
const file = live('LiveFile', FILE);

function storageWith(data: unknown): Storage {
  const storage = emptyStorage();
  applyOps(storage, opsFromLson(object(data), newIds()), { actor: 900 });
  return storage;
}

const match = (schema: string, data: unknown) => matchStorage(compileSchema(schema), storageWith(data));
const matchValue = (type: string, value: unknown) => match(`type Storage { a: ${type} }\ntype P { x: string }`, { a: value });

describe('each form of a type', () => {
  test.each<[type: string, accepted: unknown[], refused: unknown[]]>([
    ['string', ['', 'x'], [1, true, null, {}, [], text, list()]],
    ['number', [0, -1.5], ['1', null, false]],
    ['boolean', [true, false], [0, 'true', null]],
    ['null', [null], [0, '', false, {}]],
    ['"x"', ['x'], ['y', '', null]],
    ['200', [200], [201, '200']],
    ['true', [true], [false, 'true', 1]],
    ['"x" | 3 | null', ['x', 3, null], ['3', 4, undefined]],
    ['string | number', ['x', 3], [null, true]],
    ['string[]', [[], ['x', 'y']], [['x', 1], list('x'), 'x', {}]],
    ['(string | null)[][]', [[], [[]], [['x', null]]], [['x'], [[1]], [null]]],
    ['{ x: string }', [{ x: '' }], [{}, { x: 1 }, { x: '', y: '' }, object({ x: '' }), []]],
    ['P', [{ x: '' }], [{}, object({ x: '' }), map({ x: '' })]],
    [
      'LiveObject<P>',
      [object({ x: '' })],
      [{ x: '' }, object(), object({ x: 1 }), object({ x: '', y: 1 }), map({ x: '' }), list()],
    ],
    ['LiveObject<{ x: LiveText }>', [object({ x: text })], [object({ x: 'x' }), object({ x: file })]],
    ['LiveList<number>', [list(), list(1, 2)], [[], [1], list(1, 'x'), list(null), object(), map()]],
    ['LiveList<LiveObject<P>>', [list(object({ x: '' }))], [list({ x: '' }), list(object())]],
    ['LiveMap<string, number>', [map(), map({ any: 1 })], [{}, { any: 1 }, object({ any: 1 }), map({ any: '1' })]],
    ['LiveText', [text], ['hi', [['hi']], list(), file]],
    ['LiveFile', [file], [FILE, text, 'fl']],
    ['P | LiveObject<P> | null', [{ x: '' }, object({ x: '' }), null], [{}, object(), list()]],
    ['string[] | LiveList<string>', [['x'], list('x')], [[1], list(1)]],
  ])('[SC20] %s', (type, accepted, refused) => {
    for (const value of accepted) expect(matchValue(type, value), JSON.stringify(value)).toBeNull();
    for (const value of refused.filter((value) => value !== undefined))
      expect(matchValue(type, value), JSON.stringify(value)).not.toBeNull();
  });
});

describe('fields', () => {
  test('[SC21] a field must be there, unless it is optional; null is a value like others', () => {
    expect(match('type Storage { a: string }', {})).not.toBeNull();
    expect(match('type Storage { a?: string }', {})).toBeNull();
    expect(match('type Storage { a?: string }', { a: 'x' })).toBeNull();
    expect(match('type Storage { a?: string }', { a: null })).not.toBeNull();
    expect(match('type Storage { a?: string | null }', { a: null })).toBeNull();
  });

  test('[SC22] what no field declares is refused, plain or live, also in the root', () => {
    expect(match('type Storage {}', {})).toBeNull();
    expect(match('type Storage {}', { b: 1 })).toMatchObject({ problem: 'not known' });
    expect(match('type Storage {}', { b: list() })).toMatchObject({ problem: 'not known' });
    expect(match('type Storage { a: { x?: string } }', { a: { y: 1 } })).toMatchObject({ problem: 'not known', pointer: '/a/y' });
  });
});

describe('a mismatch says what is wrong and where', () => {
  const SCHEMA = `
    type Storage { people: LiveList<LiveObject<Person>>, "a/b"?: LiveMap<string, Tag[]> }
    type Person { name: string, address?: { zip: number }, notes?: LiveList<string>, note?: LiveText }
    type Tag { text: "x" | "y" }`;
  const person = (data: object) => ({ people: list(object({ name: 'Ann' }), object(data)) });

  test.each<[name: string, data: unknown, mismatch: object]>([
    [
      'missing',
      person({}),
      {
        problem: 'missing',
        property: 'name',
        type: 'Person',
        pointer: '/people/1/name',
        reason: 'the property "name" of Person is missing',
      },
    ],
    [
      'wrong type',
      person({ name: 3 }),
      {
        problem: 'wrong type',
        property: 'name',
        type: 'Person',
        pointer: '/people/1/name',
        reason: 'the property "name" of Person has the wrong type: it must be string, and is 3',
      },
    ],
    [
      'not live',
      person({ name: 'Bo', notes: ['x'] }),
      {
        problem: 'not live',
        property: 'notes',
        type: 'Person',
        pointer: '/people/1/notes',
        reason: 'the property "notes" of Person is not live: it must be LiveList<string>, and is a plain array',
      },
    ],
    ['not live, as a text', person({ name: 'Bo', note: 'x' }), { problem: 'not live', pointer: '/people/1/note' }],
    [
      'not known',
      person({ name: 'Bo', age: 3 }),
      {
        problem: 'not known',
        property: 'age',
        type: 'Person',
        pointer: '/people/1/age',
        reason: 'the property "age" of Person is not known',
      },
    ],
    [
      'live in place of plain',
      person({ name: list() }),
      {
        problem: 'wrong type',
        pointer: '/people/1/name',
        reason: 'the property "name" of Person has the wrong type: it must be string, and is a LiveList',
      },
    ],
    [
      'inside plain JSON',
      person({ name: 'Bo', address: {} }),
      { problem: 'missing', property: 'zip', type: 'Person.address', pointer: '/people/1/address/zip' },
    ],
    [
      'in an array in a map, under keys with slashes',
      { ...person({ name: 'Bo' }), 'a/b': map({ 'x~y': [{ text: 'x' }, { text: 'z' }] }) },
      {
        problem: 'wrong type',
        property: 'text',
        type: 'Tag',
        pointer: '/a~1b/x~0y/1/text',
        reason: 'the property "text" of Tag has the wrong type: it must be "x" | "y", and is "z"',
      },
    ],
    [
      'an item',
      { people: list({ name: 'Bo' }) },
      { problem: 'not live', property: '0', type: 'LiveList<LiveObject<Person>>', pointer: '/people/0' },
    ],
  ])('[SC23] %s', (_, data, mismatch) => {
    expect(match(SCHEMA, data)).toMatchObject(mismatch);
  });

  test('[SC23] an item is named by its index, however the list came about', () => {
    const storage = storageWith({ people: list(object({ name: 'Ann' }), object({ name: 'Bo' })) });
    const [first] = [...storage.nodes.values()].filter((node) => node.depth === 2);
    applyOps(
      storage,
      [
        { type: 5, opId: '2:0', id: first!.id },
        { type: 4, opId: '2:1', id: '2:1', parentId: first!.parent!.id, parentKey: '~~', data: {} },
      ],
      { actor: 2 },
    );
    expect(matchStorage(compileSchema(SCHEMA), storage)).toMatchObject({ pointer: '/people/1/name', problem: 'missing' });
  });
});

test('[SC24] a tree of any depth is matched without recursion', () => {
  const storage = emptyStorage();
  const ops = Array.from({ length: 999 }, (_, at) => ({
    type: 4 as const,
    opId: `1:${at}`,
    id: `1:${at}`,
    parentId: at === 0 ? 'root' : `1:${at - 1}`,
    parentKey: 'next',
    data: {},
  }));
  applyOps(storage, ops, { actor: 1 });
  const schema = compileSchema('type Storage { next?: LiveObject<Link> } type Link { next?: LiveObject<Link>, end?: string }');
  expect(matchStorage(schema, storage)).toBeNull();
  applyOps(storage, [{ type: 3, opId: '1:x', id: '1:998', data: { end: 1 } }], { actor: 1 });
  expect(matchStorage(schema, storage)?.pointer).toBe(`${'/next'.repeat(999)}/end`);
});

test('[SC25] a text is compiled once, for all rooms that use it', () => {
  const text = 'type Storage { once: string }';
  expect(compileSchema(text)).toBe(compileSchema(`${text}`));
});
