import fc from 'fast-check';
import Type from 'typebox';
import { Compile } from 'typebox/compile';
import { expect, test } from 'vitest';
import { compileSchema } from '../../src/base/compile-schema.ts';

const closed = { additionalProperties: false } as const;
const SCHEMAS = [
  Type.Object({ a: Type.Integer() }, closed),
  Type.Object({ a: Type.Optional(Type.Integer()), b: Type.Optional(Type.Object({ a: Type.Null() }, closed)) }, closed),
  Type.Union([Type.Object({ a: Type.Literal(1) }, closed), Type.Object({ a: Type.Literal(2), b: Type.Unknown() }, closed)]),
  Type.Array(Type.Union([Type.Object({ a: Type.Unknown() }, closed), Type.Object({ b: Type.Unknown() })])),
  Type.Refine(
    Type.Object({ a: Type.Integer(), b: Type.Optional(Type.Integer()) }, closed),
    ({ a }) => a > 1,
    () => 'too small',
  ),
  Type.Record(Type.String({ pattern: '^[ab]$' }), Type.Integer(), closed),
  Type.Unsafe({ properties: { a: { type: 'integer' } }, additionalProperties: false }),
];

test('[CB26] a schema takes the same values whether names are looked at first or last', () => {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.constantFrom(null, 1, 2, 'a'),
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom('a', 'b', 'c', '__proto__', 'constructor'), tie('value'), { maxKeys: 3 }),
    ),
  }));
  const verdicts = new Set<string>();
  for (const [index, schema] of SCHEMAS.entries()) {
    const [before, now] = [Compile(schema), compileSchema(schema)];
    fc.assert(
      fc.property(value, (some) => {
        const verdict = before.Check(some);
        expect(now.Check(some)).toBe(verdict);
        verdicts.add(`${index} ${verdict}`);
      }),
      { numRuns: 2_000, seed: 11 },
    );
  }
  expect(verdicts.size).toBe(2 * SCHEMAS.length);
});
