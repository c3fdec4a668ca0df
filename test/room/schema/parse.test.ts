import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { compileSchema } from '../../../src/room/schema/compile.ts';
import { parseSchema, SCHEMA_NESTING_MAX } from '../../../src/room/schema/parse.ts';
import { SCHEMA_LENGTH_MAX } from '../../../src/room/schema/tokens.ts';
import { refusalOf } from './refusal.ts';

const accepts = (text: string) => expect(compileSchema(text).root.name).toBe('Storage');
const fieldTexts = (text: string) => parseSchema(text).definitions[0]!.body.fields.map(({ name, type }) => [name, type.text]);

describe('what is a schema', () => {
  test.each([
    ['an empty object', 'type Storage {}'],
    ['fields on lines of their own', 'type Storage {\n  a: string\n  b: number\n}'],
    ['fields between commas, the last one too', 'type Storage { a: string, b: number, }'],
    ['fields between semicolons', 'type Storage { a: string; b: number; }'],
    ['a comma at the end of each line', 'type Storage {\r\n  a: string,\r\n\r\n  b: number\r\n}'],
    ['optional fields', 'type Storage { a?: string }'],
    ['all scalars', 'type Storage { a: string, b: number, c: boolean, d: null }'],
    ['literals', `type Storage { a: "x" | 'y' | 200 | -1.5e3 | true | false }`],
    ['a union over several lines', 'type Storage {\n  a: "x"\n    | "y"\n  b: string\n}'],
    ['arrays of arrays, unions in parentheses', 'type Storage { a: (string | number)[][] | null }'],
    ['plain objects within each other', 'type Storage { a: { b: { c: string } } }'],
    [
      'live types within each other',
      'type Storage { a: LiveList<LiveMap<string, LiveObject<P>>> }\ntype P { t: LiveText, f: LiveFile }',
    ],
    ['a type used before it is defined', 'type Storage { a: LiveObject<P> } type P { x: string }'],
    ['an object written out in a LiveObject', 'type Storage { a: LiveObject<{ x: LiveList<string> }> }'],
    ['names in quotes', `type Storage { "first name": string, '1': number, type: string }`],
    ['comments', '// first\ntype Storage { // second\n  a: string // third\n}\n// last'],
    ['one plain and one live object in a union', 'type Storage { a: P | LiveObject<P> } type P { x: string }'],
  ])('[SC1] %s', (_, text) => accepts(text));

  test('[SC2] a type is shown as it is written, on one line, shortened when it is long', () => {
    expect(fieldTexts('type Storage {\n a: "x"\n  | "y" // why\n b: (string|null)[] [] }')).toEqual([
      ['a', '"x" | "y"'],
      ['b', '(string|null)[] []'],
    ]);
    const [[, long]] = fieldTexts(`type Storage { a: "${'x'.repeat(200)}" }`) as [[string, string]];
    expect(long).toHaveLength(81);
  });
});

describe('what is none', () => {
  test.each([
    ['an unclosed brace', 'type Storage {\n  a: string\n', '3:1: expected the name of a field, or }, found the end'],
    ['no definition', '', '1:1: expected a definition of the type Storage, found none'],
    ['no Storage', 'type A {}\n', '2:1: expected a definition of the type Storage, found none'],
    ['an equals sign', 'type Storage = {}', '1:14: expected { right after the name, without an equals sign, found ='],
    ['another word', 'interface Storage {}', '1:1: expected a definition, which begins with the word type, found interface'],
    ['a name in lower case', 'type storage {}', '1:6: expected a name that begins with an upper-case letter, found storage'],
    ['no colon', 'type Storage { a string }', '1:18: expected a colon and the type of the field, or ? before them, found string'],
    ['no type', 'type Storage { a: }', '1:19: expected a type, found }'],
    [
      'two fields side by side',
      'type Storage { a: string b: string }',
      '1:26: expected a comma, a semicolon or a new line before the next field, or }, found b',
    ],
    ['two commas', 'type Storage { a: string,, }', '1:26: expected the name of a field, or }, found ,'],
    ['a quote that stays open', 'type Storage { a: "x\n" }', '1:19: expected a closing " on the same line, found none'],
    ['a number too large', 'type Storage { a: 1e999 }', '1:19: expected a number that JSON can hold, found 1e999'],
    ['a bracket that stays open', 'type Storage { a: string[ }', '1:27: expected ] right after [, found }'],
    ['a parenthesis that stays open', 'type Storage { a: (string }', '1:27: expected | and another type, or ), found }'],
    ['a LiveObject of nothing', 'type Storage { a: LiveObject }', '1:30: expected < and what the Live type holds, found }'],
    ['a block comment', 'type Storage { /* x */ }', '1:16: expected the name of a field, or }, found /'],
    [
      'a key that reaches a prototype',
      'type Storage { __proto__: string }',
      '1:16: expected a name that Storage may hold, found __proto__',
    ],
    ['U+0000', 'type Storage {\n a: "\0" }', '2:6: expected text, found U+0000 or half of a surrogate pair'],
    [
      'a long token, quoted in part',
      `type ${'x'.repeat(50)}`,
      `1:6: expected a name that begins with an upper-case letter, found ${'x'.repeat(40)}…`,
    ],
  ])('[SC3] %s: with line, column, what was expected and what stands there', (_, text, refusal) => {
    expect(refusalOf(text)).toBe(refusal);
  });

  test.each([
    ['type', 'type A {} type A {}', '1:16: expected a name that no other definition has, found A'],
    [
      'field',
      'type Storage { a: string, "a": string }',
      '1:27: expected a name that no other field of the object has, found "a"',
    ],
  ])('[SC4] a duplicate %s name', (_, text, refusal) => expect(refusalOf(text)).toBe(refusal));

  test.each(['string', 'number', 'boolean', 'null', 'LiveObject', 'LiveList', 'LiveMap', 'LiveText', 'LiveFile'])(
    '[SC5] %s cannot be defined anew',
    (name) =>
      expect(refusalOf(`type ${name} {}`)).toBe(`1:6: expected a name that the language does not use itself, found ${name}`),
  );

  test.each([
    ['LiveMap<number, string>', '1:27: expected string: the keys of a LiveMap are strings, found number'],
    ['LiveMap<string>', '1:33: expected a comma and the type of the entries, found >'],
    ['LiveMap<string, string, string>', '1:41: expected >, found ,'],
    ['LiveList<string, string>', '1:34: expected >, found ,'],
    ['LiveText<string>', '1:27: expected a comma, a semicolon or a new line before the next field, or }, found <'],
  ])('[SC6] wrong arguments of a Live type: %s', (type, refusal) =>
    expect(refusalOf(`type Storage { a: ${type} }`)).toBe(refusal),
  );

  test.each(['string', 'LiveList<string>', '"x"', 'P[]'])('[SC7] LiveObject<%s> is no LiveObject of an object', (type) => {
    const refusal = refusalOf(`type Storage { a: LiveObject<${type}> } type P {}`);
    const expected = type === 'P[]' ? 'expected >, found [' : 'expected the name of an object type, or {, found';
    expect(refusal).toContain(expected);
  });

  test.each([
    'any',
    'unknown',
    'undefined',
    'object',
    '[string, number]',
    '/a+/',
    'string & number',
    '1..5',
    'A<string>',
    'Record<string, string>',
    'bigint',
    '`x`',
  ])('[SC8] what the language does not have is refused: %s', (type) =>
    expect(refusalOf(`type Storage { a: ${type} } type A {}`)).toMatch(/^1:\d+: expected .+, found .+$/),
  );

  test('[SC9] a schema may have 65,536 characters, and not one more', () => {
    const filled = (length: number) => `type Storage {}${' '.repeat(length - 15)}`;
    accepts(filled(SCHEMA_LENGTH_MAX));
    expect(refusalOf(filled(SCHEMA_LENGTH_MAX + 1))).toBe('1:65537: expected a schema of at most 65536 characters, found more');
  });

  test.each([
    ['braces', (depth: number) => `type Storage { a: ${'{ b: '.repeat(depth - 1)}string${'}'.repeat(depth)}`],
    ['parentheses', (depth: number) => `type Storage { a: ${'('.repeat(depth - 1)}string${')'.repeat(depth - 1)} }`],
    ['lists', (depth: number) => `type Storage { a: ${'LiveList<'.repeat(depth - 1)}string${'>'.repeat(depth - 1)} }`],
    ['arrays', (depth: number) => `type Storage { a: string${'[]'.repeat(depth)} }`],
  ])('[SC10] %s are nested as deep as values are, and not one deeper', (_, nested) => {
    accepts(nested(SCHEMA_NESTING_MAX));
    expect(refusalOf(nested(SCHEMA_NESTING_MAX + 1))).toContain('expected types nested at most 32 deep');
  });

  test('[SC11] whatever the text, it is read or refused with a position in it', () => {
    const piece = fc.constantFrom(
      ...[
        'type ',
        'Storage',
        'A',
        '{',
        '}',
        'a',
        'b',
        '?',
        ':',
        'string',
        'number',
        'null',
        '|',
        '[',
        ']',
        '[]',
        '(',
        ')',
        ',',
        ';',
        '\n',
        ' ',
      ],
      ...[
        'LiveObject',
        'LiveList',
        'LiveMap',
        'LiveText',
        '<',
        '>',
        '"x"',
        '1',
        '//',
        '/*',
        '\\',
        "'",
        '"',
        '\0',
        '\ud800',
        '😀',
        '__proto__',
      ],
      ...['type Storage {', 'type A {', 'a: ', 'LiveObject<A>', 'A[]', '\r\n'],
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const text = pieces.join('');
        try {
          compileSchema(text);
        } catch (error) {
          if (!(error instanceof AppError) || error.code !== 'INVALID_SCHEMA') throw error;
          const lines = text.split(/\r\n?|\n/);
          const { line, column } = error.facts as { line: number; column: number };
          expect(column).toBeGreaterThanOrEqual(1);
          expect(column).toBeLessThanOrEqual((lines[line - 1] ?? '').length + 1);
        }
      }),
      { numRuns: 5_000 },
    );
  });
});
