import { describe, expect, test } from 'vitest';
import { compileSchema } from '../../../src/room/schema/compile.ts';
import { refusalOf } from './refusal.ts';

const accepts = (text: string) => expect(compileSchema(text).root.name).toBe('Storage');
const PLAIN = 'a plain type: what is inside a plain object or array is never live';

test.each([
  ['as a field', 'type Storage { a: Nobody }', '1:19'],
  ['in a LiveObject', 'type Storage { a: LiveObject<Nobody> }', '1:30'],
  ['in an array', 'type Storage { a: Nobody[] }', '1:19'],
  ['in a definition that nothing uses', 'type Storage {} type A {\n  x: Nobody\n}', '2:6'],
])('[SC12] a name that nothing defines is refused %s', (_, text, at) => {
  expect(refusalOf(text)).toBe(`${at}: expected a type that the language has or the schema defines, found Nobody`);
});

describe('live types stand only right inside what is live', () => {
  test.each([
    ['in a plain array', 'type Storage { a: LiveList<string>[] }', '1:19', PLAIN, 'LiveList'],
    ['in a plain object', 'type Storage { a: { b: LiveText } }', '1:24', PLAIN, 'LiveText'],
    ['in a plain object in a LiveList', 'type Storage { a: LiveList<{ b: LiveFile }> }', '1:33', PLAIN, 'LiveFile'],
    [
      'behind a name',
      'type Storage { a: P } type P { b: LiveMap<string, string> }',
      '1:19',
      'LiveObject<P>, because P holds live types',
      'P',
    ],
    [
      'behind two names',
      'type Storage { a: P[] } type P { b: Q | null } type Q { c: LiveText }',
      '1:19',
      'LiveObject<P>, because P holds live types',
      'P',
    ],
  ])('[SC13] %s they are refused', (_, text, at, expected, found) => {
    expect(refusalOf(text)).toBe(`${at}: expected ${expected}, found ${found}`);
  });

  test('[SC14] an object type with live fields may be used live, also by itself', () => {
    accepts('type Storage { a: LiveObject<P> } type P { next: LiveObject<P> | null, b: LiveText }');
  });
});

describe('a union has one member a shape', () => {
  test.each([
    ['plain object type', 'A | B'],
    ['plain object type', 'A | { x: string }'],
    ['array type', 'string[] | number[]'],
    ['LiveObject', 'LiveObject<A> | LiveObject<B>'],
    ['LiveList', 'LiveList<string> | LiveList<number>'],
    ['LiveMap', '(LiveMap<string, string> | null) | LiveMap<string, A>'],
  ])('[SC15] two of the shape %s are refused: %s', (shape, type) => {
    expect(refusalOf(`type Storage { a: ${type} } type A {} type B {}`)).toContain(
      `expected at most one ${shape} in a union, found a second one`,
    );
  });

  test('[SC16] one of each shape is accepted', () => {
    accepts(
      'type Storage { a: A | string[] | LiveObject<A> | LiveList<A> | LiveMap<string, A> | LiveText | LiveFile | 1 } type A {}',
    );
  });
});

test.each([
  ['as a field', 'type Storage { a: Storage }'],
  ['live', 'type Storage { a?: LiveObject<Storage> }'],
  ['in a list', 'type Storage { a: LiveList<Storage> }'],
])('[SC17] Storage stands nowhere else: %s', (_, text) => {
  expect(refusalOf(text)).toContain('expected another type: Storage is the root and stands nowhere else, found Storage');
});

describe('recursion', () => {
  test.each([
    ['itself', 'type Storage {}\ntype A { a: A }', '2:1'],
    ['itself by way of another', 'type Storage {}\ntype A { b: B } type B { a: A | A2 } type A2 { a: A }', ''],
    ['itself in an object written out', 'type Storage {}\ntype A { b: { a: A } }', '2:1'],
  ])('[SC18] a plain object that must hold %s cannot exist', (_, text) => {
    expect(refusalOf(text)).toMatch(/^\d+:\d+: expected (an object that can exist, found A|at most one plain object)/);
  });

  test.each([
    ['an optional field', 'a?: A'],
    ['an array', 'a: A[]'],
    ['a union with null', 'a: A | null'],
    ['a LiveList', 'a: LiveList<string> | A2', 'type A2 {}'],
    ['a LiveObject', 'a: LiveObject<A>'],
    ['a LiveMap', 'a: LiveMap<string, LiveObject<A>>'],
  ])('[SC19] by way of %s it can', (_, field, more = '') => accepts(`type Storage {}\ntype A { ${field} } ${more}`));
});
