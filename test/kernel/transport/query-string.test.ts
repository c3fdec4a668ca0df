import Type from 'typebox';
import { expect, test } from 'vitest';
import { makeParamsReader, makeQueryReader } from '../../../src/kernel/transport/query-string.ts';

const Query = Type.Object({
  limit: Type.Integer({ default: 20, minimum: 1 }),
  idempotent: Type.Optional(Type.Boolean()),
  query: Type.Optional(Type.String()),
  ratio: Type.Optional(Type.Number()),
});
const read = makeQueryReader(Query, 'left out');

test.each([
  ['', { limit: 20 }],
  ['limit=5', { limit: 5 }],
  ['limit=-5', { limit: -5 }],
  ['limit=007', { limit: 7 }],
  ['limit=1.5', { limit: '1.5' }],
  ['limit=', { limit: '' }],
  ['limit=abc', { limit: 'abc' }],
  ['limit=0x10', { limit: '0x10' }],
  ['limit=1e3', { limit: '1e3' }],
  ['limit=%31', { limit: 1 }],
  ['idempotent', { limit: 20, idempotent: true }],
  ['idempotent=', { limit: 20, idempotent: true }],
  ['idempotent=true', { limit: 20, idempotent: true }],
  ['idempotent=false', { limit: 20, idempotent: false }],
  ['idempotent=yes', { limit: 20, idempotent: 'yes' }],
  ['ratio=1.5', { limit: 20, ratio: 1.5 }],
  ['query=a+b%20c%C3%A9', { limit: 20, query: 'a b cé' }],
  ['query=5', { limit: 20, query: '5' }],
  ['utm=1&utm=2&__proto__=3', { limit: 20 }],
])('[RT11] ?%s is read as %j; what is no such value stays text for the check to refuse', (text, values) => {
  expect({ ...read(text) }).toEqual(values);
});

test('[RT11] a schema that asks for more gets the others as text', () => {
  const schema = Type.Object({ limit: Type.Optional(Type.Integer()) }, { additionalProperties: Type.String() });
  const more = makeQueryReader(schema, 'refused');
  expect({ ...more('limit=1&metadata.color=red&__proto__=x') }).toEqual({
    limit: 1,
    'metadata.color': 'red',
    ['__proto__']: 'x',
  });
});

test('[RT32] where others are refused, they are refused by name', () => {
  const strict = makeQueryReader(Query, 'refused');
  expect({ ...strict('limit=5') }).toEqual({ limit: 5 });
  for (const name of ['Limit', 'startingAfter', '__proto__', ''])
    expect(() => strict(`limit=5&${name}=x`)).toThrow(`Value at key '${name}' is not known here.`);
});

test('[RT12] a parameter given twice is refused', () => {
  expect(() => read('limit=1&limit=1')).toThrow("Value at key 'limit' is given more than once.");
});

test.each(['query=%', 'query=%2', 'query=%zz', 'query=%ff', 'utm=%C0%AF'])(
  '[RT13] ?%s is no percent-encoding and refused',
  (text) => {
    expect(() => read(text)).toThrow("Value at key 'query' is not valid percent-encoding.");
  },
);

test('[RT11] path parameters become integers where the schema says so', () => {
  const params = makeParamsReader(Type.Object({ partNumber: Type.Integer(), name: Type.String() }));
  expect(params({ partNumber: '3', name: '4' })).toEqual({ partNumber: 3, name: '4' });
});
