import Type, { type TSchema } from 'typebox';
import { Validator } from 'typebox/compile';
import { expect, test, vi } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { makeCheck } from '../../../src/kernel/transport/validate.ts';

const Metadata = Type.Record(
  Type.String(),
  Type.Union([Type.String({ maxLength: 5 }), Type.Array(Type.String({ maxLength: 5 }))]),
  {
    maxProperties: 3,
    propertyNames: { maxLength: 4 },
  },
);
const Room = Type.Object(
  {
    id: Type.String({ minLength: 1, maxLength: 3 }),
    defaultAccesses: Type.Array(Type.Enum(['*:read', '*:write']), { uniqueItems: true, maxItems: 2 }),
    metadata: Type.Optional(Metadata),
    size: Type.Optional(Type.Integer({ minimum: 1, maximum: 100 })),
    box: Type.Optional(Type.Union([Type.Null(), Type.Object({ x: Type.Integer() }, { additionalProperties: false })])),
    shape: Type.Optional(Type.Union([Type.Literal('round'), Type.Literal('square')])),
    edit: Type.Optional(
      Type.Union([
        Type.Object({ op: Type.Literal('add'), value: Type.Integer() }),
        Type.Object({ op: Type.Literal('move'), from: Type.String() }),
      ]),
    ),
    code: Type.Optional(Type.String({ pattern: '^fl_[a-z]+$' })),
  },
  { additionalProperties: false },
);
const checkRoom = makeCheck(Room, 'The body');
const valid = { id: 'a', defaultAccesses: [] };

function refusal(schema: TSchema, value: unknown): string {
  try {
    makeCheck(schema, 'The body')(value);
  } catch (error) {
    if (error instanceof AppError && error.code === 'UNPROCESSABLE_ENTITY') return error.message;
    throw error;
  }
  return 'accepted';
}

test('[RT8] a value that fits is returned as it is', () => {
  const value = {
    ...valid,
    metadata: { a: 'x', b: ['y'] },
    size: 100,
    box: null,
    shape: 'round',
    edit: { op: 'move', from: '' },
  };
  expect(checkRoom(value)).toBe(value);
});

test.each([
  [{}, "Missing key 'id'."],
  [{ id: 'a' }, "Missing key 'defaultAccesses'."],
  [[], 'The body must be an object.'],
  [null, 'The body must be an object.'],
  ['x', 'The body must be an object.'],
  [{ ...valid, extra: 1 }, "Value at key 'extra' is not known here."],
  [{ ...valid, id: '' }, "Value at key 'id' must not be empty."],
  [{ ...valid, id: 'abcd' }, "Value at key 'id' must have at most 3 characters."],
  [{ ...valid, id: 5 }, "Value at key 'id' must be a string."],
  [{ ...valid, defaultAccesses: '*:read' }, "Value at key 'defaultAccesses' must be an array."],
  [{ ...valid, defaultAccesses: ['room:admin'] }, "Value at key 'defaultAccesses.0' must be '*:read' or '*:write'."],
  [{ ...valid, defaultAccesses: ['*:read', '*:read'] }, "Value at key 'defaultAccesses' must not hold the same item twice."],
  [{ ...valid, size: 0 }, "Value at key 'size' must be at least 1."],
  [{ ...valid, size: 101 }, "Value at key 'size' must be at most 100."],
  [{ ...valid, size: 1.5 }, "Value at key 'size' must be an integer."],
  [{ ...valid, code: 'x' }, "Value at key 'code' must match ^fl_[a-z]+$."],
])('[RT8] %j is refused: %s', (value, message) => {
  expect(refusal(Room, value)).toBe(message);
});

test.each([
  [{ metadata: { tags: 5 } }, "Value at key 'metadata.tags' must be a string or an array."],
  [{ metadata: { tags: ['a', 5] } }, "Value at key 'metadata.tags.1' must be a string."],
  [{ metadata: { tags: 'abcdef' } }, "Value at key 'metadata.tags' must have at most 5 characters."],
  [{ metadata: { 'a/b~': 5 } }, "Value at key 'metadata.a/b~' must be a string or an array."],
  [{ metadata: { abcde: 'x' } }, "Value at key 'metadata.abcde' may not have this name: a name must have at most 4 characters."],
  [{ metadata: { a: '', b: '', c: '', d: '' } }, "Value at key 'metadata' must have at most 3 entries."],
  [{ box: 5 }, "Value at key 'box' must be null or an object."],
  [{ box: {} }, "Missing key 'box.x'."],
  [{ box: { x: '1' } }, "Value at key 'box.x' must be an integer."],
  [{ box: { x: 1, y: 1 } }, "Value at key 'box.y' is not known here."],
  [{ shape: 'flat' }, "Value at key 'shape' must be 'round' or 'square'."],
  [{ edit: { op: 'add' } }, "Missing key 'edit.value'."],
  [{ edit: { op: 'move', from: 3 } }, "Value at key 'edit.from' must be a string."],
  [{ edit: { op: 'drop' } }, "Value at key 'edit.op' must be 'add' or 'move'."],
])('[RT9] of a union that does not fit, the reason is that of the branch that was meant: %j', (part, message) => {
  expect(refusal(Room, { ...valid, ...part })).toBe(message);
});

test('[RT9] a union of many constants names them all', () => {
  const letters = Array.from({ length: 20 }, (_, index) => String.fromCharCode(97 + index));
  expect(refusal(Type.Union(letters.map((letter) => Type.Literal(letter))), 'z')).toMatch(
    /^The body must be 'a', 'b', .*'s' or 't'\.$/,
  );
});

test('[RT9] a union within a union is followed to its end', () => {
  const Inner = Type.Union([
    Type.Object({ kind: Type.Literal('a'), at: Type.Integer() }),
    Type.Object({ kind: Type.Literal('b') }),
  ]);
  expect(refusal(Type.Union([Type.Null(), Type.Array(Inner)]), [{ kind: 'b' }, { kind: 'a' }])).toBe("Missing key '1.at'.");
});

test('[RT10] a record checks every key, also one with a line feed in it', () => {
  const Counts = Type.Object({ counts: Type.Record(Type.String(), Type.Integer()) });
  expect(refusal(Counts, { counts: { 'a\nb': 1 } })).toBe('accepted');
  expect(refusal(Counts, { counts: { 'a\nb': 'x' } })).toBe("Value at key 'counts.a\nb' must be an integer.");
  expect(refusal(Counts, { counts: { '': 'x' } })).toBe("Value at key 'counts.' must be an integer.");
});

test("[RT8] a route's own rule speaks for itself", () => {
  const Even = Type.Object({
    n: Type.Refine(
      Type.Integer(),
      (n) => n % 2 === 0,
      () => 'must be even',
    ),
  });
  expect(refusal(Even, { n: 3 })).toBe("Value at key 'n' must be even.");
  expect(refusal(Even, { n: 4 })).toBe('accepted');
});

test('[RT8] a message repeats no more than a hundred characters of a key', () => {
  expect(refusal(Room, { ...valid, ['k'.repeat(10_000)]: 1 }).length).toBeLessThan(200);
});

test('[RT31] the member that does not fit is named, wherever it is', () => {
  const Inner = Type.Union([
    Type.Object({ kind: Type.Literal('a'), at: Type.Integer() }),
    Type.Object({ kind: Type.Literal('list'), of: Type.Array(Type.String()) }),
  ]);
  const Outer = Type.Object({
    items: Type.Optional(Type.Union([Type.Null(), Type.Array(Inner, { maxItems: 10_000 })])),
    named: Type.Optional(Type.Record(Type.String(), Type.Array(Type.Integer()))),
  });
  const many = Array.from({ length: 5_000 }, () => ({ kind: 'a', at: 1 }));
  const of = Array.from({ length: 5_000 }, () => 'text');
  expect(refusal(Outer, { items: [...many, { kind: 'a', at: 'x' }, 7] })).toBe(
    "Value at key 'items.5000.at' must be an integer.",
  );
  expect(refusal(Outer, { items: [...many, { kind: 'a' }] })).toBe("Missing key 'items.5000.at'.");
  expect(refusal(Outer, { items: [...many, { kind: 'list', of: [...of, 1] }] })).toBe(
    "Value at key 'items.5000.of.5000' must be a string.",
  );
  expect(refusal(Outer, { items: [...many, { kind: 'b' }] })).toBe("Value at key 'items.5000.kind' must be 'a' or 'list'.");
  expect(refusal(Outer, { items: [...many, ...many, { kind: 'b' }] })).toBe(
    "Value at key 'items' must have at most 10000 items.",
  );
  expect(refusal(Outer, { named: { first: [1], second: [1, 'x'], third: 1 } })).toBe(
    "Value at key 'named.second.1' must be an integer.",
  );
});

test('[RT31] and reasons are asked of one level alone, not of what fits beside it', () => {
  const asked = vi.spyOn(Validator.prototype, 'Errors');
  const schema = Type.Array(Type.Array(Type.Union([Type.Object({ n: Type.Integer() }), Type.Null()])));
  const rows = Array.from({ length: 1_000 }, () => [{ n: 1 }, null]);
  expect(refusal(schema, [...rows, [{ n: 1 }, { n: 'x' }]])).toBe("Value at key '1000.1.n' must be an integer.");
  expect(asked.mock.calls.map(([value]) => value)).toEqual([{ n: 'x' }]);
  asked.mockRestore();
});

/** So many members that fit a record of integers. */
const entries = (count: number): object => Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, n]));

test.each<[what: string, schema: TSchema, value: unknown, message: string]>([
  [
    'the first of many names that none expects',
    Type.Object({ a: Type.Integer() }, { additionalProperties: false }),
    { ...entries(10_000), a: 1 },
    "Value at key 'k0' is not known here.",
  ],
  [
    'what is missing before a name too many',
    Type.Object({ a: Type.Integer() }, { additionalProperties: false }),
    entries(10_000),
    "Missing key 'a'.",
  ],
  [
    'the branch that was meant',
    Type.Union(
      ['add', 'test'].map((op) => Type.Object({ op: Type.Literal(op), [op]: Type.Integer() }, { additionalProperties: false })),
    ),
    { op: 'test', add: 1, ...entries(10_000), test: 1 },
    "Value at key 'add' is not known here.",
  ],
  [
    'a name that is not allowed, behind many that are',
    Type.Record(Type.String(), Type.Integer(), { propertyNames: { maxLength: 5 } }),
    { ...entries(10_000), 'too long': 1, 'longer yet': 1 },
    "Value at key 'too long' may not have this name: a name must have at most 5 characters.",
  ],
  [
    'too many entries',
    Type.Record(Type.String(), Type.Integer(), { maxProperties: 500 }),
    entries(501),
    'The body must have at most 500 entries.',
  ],
  [
    'too few entries',
    Type.Record(Type.String(), Type.Integer(), { minProperties: 500 }),
    entries(499),
    'The body must have at least 500 entries.',
  ],
  [
    'a value by what its name looks like',
    Type.Record(Type.String({ pattern: '^k\\d+$' }), Type.Integer(), { additionalProperties: false }),
    { ...entries(10_000), k500: 'x' },
    "Value at key 'k500' must be an integer.",
  ],
  [
    'an item that is there twice, behind many that are not',
    Type.Array(Type.Integer(), { uniqueItems: true, minItems: 300 }),
    [...Array(1_000).keys(), 7, 8, 9],
    'The body must not hold the same item twice.',
  ],
  [
    'too many items, however often they are there',
    Type.Array(Type.Integer(), { uniqueItems: true, maxItems: 300 }),
    Array(1_000).fill(7),
    'The body must have at most 300 items.',
  ],
  ['too few items', Type.Array(Type.Integer(), { minItems: 300 }), Array(299).fill(7), 'The body must have at least 300 items.'],
])('[CB25] of a value with very many members is told: %s', (_, schema, value, message) => {
  expect(refusal(schema, value)).toBe(message);
  expect(refusal(Type.Object({ in: Type.Union([schema, Type.Null()]) }), { in: value })).toBe(
    message.replace('The body ', "Value at key 'in' ").replace(/ key '(?!in')/, " key 'in."),
  );
});

test('[CB25] and reasons are asked of an excerpt, not of all that is too much', () => {
  const asked = vi.spyOn(Validator.prototype, 'Errors');
  const Operation = Type.Union(
    ['add', 'move', 'test'].map((op) =>
      Type.Object({ op: Type.Literal(op), path: Type.String() }, { additionalProperties: false }),
    ),
  );
  expect(refusal(Type.Array(Operation), [{ op: 'move', path: '', ...entries(20_000) }])).toBe(
    "Value at key '0.k0' is not known here.",
  );
  expect(refusal(Type.Array(Type.Integer(), { uniqueItems: true }), Array(20_000).fill(7))).toMatch(/twice/);
  expect(asked.mock.calls.map(([value]) => Object.keys(value as object).length)).toEqual([3, 64]);
  asked.mockRestore();
});
