import { objectToQuery } from '@liveblocks/core';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { parseQuery, QUERY_LIMITS, type QueryFields } from '../../../src/base/query/parser.ts';
import { isStorableText } from '../../../src/base/text.ts';

const FIELDS = {
  roomId: { form: 'plain', operators: { '^': ['string'], ':': ['string'] } },
  resolved: { form: 'plain', operators: { ':': ['boolean'] } },
  metadata: {
    form: 'keyed',
    operators: {
      ':': ['string', 'number', 'boolean', 'null'],
      '^': ['string'],
      '>': ['number'],
      '<': ['number'],
      '>=': ['number'],
      '<=': ['number'],
    },
  },
} as const satisfies QueryFields;

const parse = (text: string) => parseQuery(text, FIELDS).map(({ field, key, operator, value }) => [field, key, operator, value]);

function refusalOf(text: string): string {
  try {
    parseQuery(text, FIELDS);
  } catch (error) {
    if (error instanceof AppError && error.code === 'UNPROCESSABLE_ENTITY') return error.message;
    throw error;
  }
  throw new Error(`accepted: ${text}`);
}

describe('clauses', () => {
  test('[QL1] a clause is a field, an operator and a value; AND joins, in any case, and may be left out', () => {
    const expected = [
      ['roomId', null, '^', 'a:'],
      ['metadata', 't', ':', 'x'],
    ];
    expect(parse('roomId^"a:" AND metadata["t"]:"x"')).toEqual(expected);
    expect(parse('roomId^"a:" and metadata["t"]:"x"')).toEqual(expected);
    expect(parse('roomId^"a:" metadata["t"]:"x"')).toEqual(expected);
    expect(parse(' \t\nroomId ^ "a:"metadata [ "t" ] : "x" ')).toEqual(expected);
  });

  test('[QL2] an empty query has no clauses', () => {
    expect(parse('')).toEqual([]);
    expect(parse('   ')).toEqual([]);
  });

  test('[QL3] values are strings in either quotes, JSON numbers, true, false and null; a quoted 3 is no number', () => {
    expect(parse(`metadata['p']:3 resolved:false metadata["q"]:"3" metadata['n']:null metadata["f"]:-1.5e2`)).toEqual([
      ['metadata', 'p', ':', 3],
      ['resolved', null, ':', false],
      ['metadata', 'q', ':', '3'],
      ['metadata', 'n', ':', null],
      ['metadata', 'f', ':', -150],
    ]);
  });

  test('[QL4] the four comparisons are read whole', () => {
    expect(parse('metadata["a"]>1 metadata["a"]<=2 metadata["a"]<3 metadata["a"]>=4').map((clause) => clause[2])).toEqual([
      '>',
      '<=',
      '<',
      '>=',
    ]);
  });

  test('[QL5] strings take the escapes of JSON and of both quotes, as the SDK writes them', () => {
    expect(parse(String.raw`roomId:'it\'s' roomId:"a\"b\\c" roomId:'\u00e9\n'`).map((clause) => clause[3])).toEqual([
      "it's",
      'a"b\\c',
      'é\n',
    ]);
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }).filter((text) => !text.includes('\0') && text.length < 500),
        (text) => {
          expect(parse(`roomId:${JSON.stringify(text)}`)).toEqual([['roomId', null, ':', text]]);
        },
      ),
    );
  });

  test('[QL12] whatever the SDK writes is read back as it was meant', () => {
    const text = fc.string({ unit: 'grapheme', maxLength: 30 }).filter(isStorableText);
    const value = fc.oneof(
      text,
      fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
      fc.boolean(),
      fc.constant(null),
    );
    fc.assert(
      fc.property(
        fc.dictionary(
          text.filter((key) => key.trim() !== '' && key.length <= QUERY_LIMITS.keyLengthMax),
          value,
          { maxKeys: 5, noNullPrototype: true },
        ),
        text,
        (metadata, startsWith) => {
          const query = objectToQuery({ roomId: { startsWith }, resolved: true, metadata });
          const expected = Object.entries(metadata).map(([key, wanted]) => ['metadata', key, ':', wanted]);
          expect(parse(query)).toEqual(
            expect.arrayContaining([['roomId', null, '^', startsWith], ['resolved', null, ':', true], ...expected]),
          );
          expect(parse(query)).toHaveLength(expected.length + 2);
        },
      ),
    );
  });

  test('[QL6] the same field twice is two clauses', () => {
    expect(parse('roomId:"a" roomId:"b"')).toHaveLength(2);
  });

  test('[QL7] a clause knows the column it starts at', () => {
    expect(parseQuery('roomId:"a"  resolved:true', FIELDS).map(({ column }) => column)).toEqual([1, 13]);
  });
});

describe('refusals name the key query, the 1-based column, what was expected and what was found', () => {
  test.each([
    [
      'unknown field',
      'size:3',
      "Value at key 'query' fails at column 1: expected a field (roomId, resolved, metadata), found size.",
    ],
    ['field of the prototype', 'constructor:"x"', 'column 1: expected a field (roomId, resolved, metadata), found constructor'],
    ['missing operator', 'roomId "a"', 'column 8: expected one of the operators ^ :, found "a"'],
    ['operator the field lacks', 'roomId>"a"', 'column 7: expected one of the operators ^ :, found >'],
    ['!= is no operator', 'roomId!="a"', 'column 7: expected one of the operators ^ :, found !'],
    ['missing value', 'roomId:', 'column 8: expected a quoted string, found the end'],
    ['bare word as value', 'roomId:secret', 'column 8: expected a quoted string, found secret'],
    ['quoted true', 'resolved:"true"', 'column 10: expected true or false, found "true"'],
    ['number after ^', 'metadata["a"]^3', 'column 15: expected a quoted string, found 3'],
    ['string after >', 'metadata["a"]>"3"', 'column 15: expected a number, found "3"'],
    [
      'all kinds are listed',
      'metadata["a"]:x',
      'column 15: expected a quoted string, or a number, or true or false, or null, found x',
    ],
    ['key without quotes', 'metadata[t]:"x"', 'column 10: expected a quoted key, found t'],
    ['field without key', 'metadata:"x"', 'column 9: expected [, found :'],
    ['open bracket', 'metadata["t":"x"', 'column 13: expected ], found :'],
    ['OR', 'roomId:"a" OR roomId:"b"', 'column 12: expected AND or a field (roomId, resolved, metadata), found OR'],
    ['parentheses', '(roomId:"a")', 'column 1: expected a field (roomId, resolved, metadata), found ('],
    ['leading AND', 'AND roomId:"a"', 'column 1: expected a field'],
    ['trailing AND', 'roomId:"a" AND', 'column 15: expected AND or a field (roomId, resolved, metadata), found the end'],
    ['two ANDs', 'roomId:"a" AND AND roomId:"b"', 'column 16: expected'],
    ['open quote', 'roomId:"a', 'column 10: expected the closing " of column 8, found the end'],
    ['escaped closing quote', String.raw`roomId:'a\'`, "column 12: expected the closing ' of column 8, found the end"],
    ['no JSON number', 'metadata["a"]:01', 'column 15: expected a quoted string'],
    ['number beyond a double', 'metadata["a"]>1e999', 'column 15: expected a number, found 1e999'],
    ['a character that nothing stored holds', String.raw`roomId:"\u0000"`, 'column 8: expected text, found U+0000'],
  ])('[QL8] %s', (_, text, message) => {
    expect(refusalOf(text)).toContain(message);
  });

  test('[QL9] what is found is cut, so that a message stays short', () => {
    expect(refusalOf('x'.repeat(4_000)).length).toBeLessThan(200);
  });

  test('[QL10] limits: 4,096 characters, 25 clauses, keys of 40 characters; not one more', () => {
    const { lengthMax, clausesMax, keyLengthMax } = QUERY_LIMITS;
    expect(parse(`roomId:"a"${' '.repeat(lengthMax - 10)}`)).toHaveLength(1);
    expect(refusalOf(`roomId:"a"${' '.repeat(lengthMax - 9)}`)).toContain('is longer than 4096 characters');
    expect(parse('roomId:"a" '.repeat(clausesMax))).toHaveLength(25);
    expect(refusalOf('roomId:"a" '.repeat(clausesMax + 1))).toContain('column 276: expected at most 25 clauses');
    expect(parse(`metadata["${'k'.repeat(keyLengthMax)}"]:1`)).toHaveLength(1);
    expect(refusalOf(`metadata["${'k'.repeat(keyLengthMax + 1)}"]:1`)).toContain('a key of at most 40 characters');
  });

  test('[QL11] whatever is typed is parsed or refused with a message, never a crash', () => {
    const piece = fc.constantFrom(
      'roomId',
      'metadata',
      '[',
      ']',
      '"a"',
      "'",
      '"',
      '\\',
      ':',
      '^',
      '>',
      '=',
      ' AND ',
      '3',
      'true',
      '\ud800',
      '(',
      '-',
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(piece).map((pieces) => pieces.join('')),
          fc.string({ unit: 'binary' }),
        ),
        (text) => {
          try {
            parseQuery(text, FIELDS);
          } catch (error) {
            expect(error).toBeInstanceOf(AppError);
          }
        },
      ),
    );
  });
});
