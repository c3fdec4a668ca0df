/** Tokens of schemas, whatever the text: the same as by looking at each place anew. */
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseSchema } from '../../../src/room/schema/parse.ts';
import { SCHEMA_LENGTH_MAX, tokensOf } from '../../../src/room/schema/tokens.ts';

const WORD_OR_NUMBER = /([A-Za-z_]\w*)|(-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))/y;

/** Each word and number, and each other character by itself. */
function lookedForEverywhere(text: string): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length; at += found.at(-1)!.length) {
    WORD_OR_NUMBER.lastIndex = at;
    found.push(WORD_OR_NUMBER.exec(text)?.[0] ?? text.charAt(at));
  }
  return found;
}

test('[CB41] numbers are found where they were found by looking from each digit on', () => {
  const text = fc.string({ unit: fc.constantFrom('0', '1', '5', '.', '-', '+', 'e', 'E', 'x', '_', '|'), maxLength: 24 });
  fc.assert(
    fc.property(text, (written) => {
      const found = lookedForEverywhere(written);
      if (found.some((one) => Math.abs(Number(one)) === Number.POSITIVE_INFINITY)) {
        expect(() => tokensOf(written)).toThrow(expect.objectContaining({ code: 'INVALID_SCHEMA' }));
        return;
      }
      const tokens = tokensOf(written);
      expect(tokens.map((token) => token.text)).toEqual([...found, '']);
      expect(tokens.map(({ offset, column }) => column - offset)).toEqual(tokens.map(() => 1));
      for (const { kind, text: digits, value } of tokens) if (kind === 'number') expect(value).toBe(Number(digits));
    }),
    { numRuns: 1_000 },
  );
});

test.each([
  ['digits and a letter', `${'1'.repeat(SCHEMA_LENGTH_MAX - 1)}a`, '1'],
  ['digits behind a point, and a letter', `1.${'1'.repeat(SCHEMA_LENGTH_MAX - 3)}a`, '1'],
  ['digits behind an exponent, and a letter', `1e+${'1'.repeat(SCHEMA_LENGTH_MAX - 4)}a`, '1'],
])('[CB41] a whole schema of %s has no number in it', (_, text, first) => {
  const tokens = tokensOf(text);
  expect(tokens[0]).toMatchObject({ kind: 'other', text: first });
  expect(tokens.some(({ kind }) => kind === 'number')).toBe(false);
});

test('[CB42] a type is shown as what is written of it, each run of blanks as one', () => {
  const blanks = fc.constantFrom('', ' ', '  ', '\n', '\r\n\t', ' // x  y\n ', '\u00a0 ');
  const member = fc.constantFrom('string', '"a  b"', '(1|2)[]', 'LiveList< 3 >', '{ a : null\n\n b?:1}', '"\u{1f600}"');
  const part = fc.tuple(blanks, member, blanks);
  fc.assert(
    fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), blanks, (parts, after) => {
      const written = parts.map((pieces) => pieces.join('')).join('|');
      const shown = written.slice(parts[0]![0].length, written.length - parts.at(-1)![2].length).replace(/\s+/g, ' ');
      const { text } = parseSchema(`type  Storage {\n\n a :${written}${after}}`).definitions[0]!.body.fields[0]!.type;
      expect(text).toBe(shown.length > 80 ? `${shown.slice(0, 80)}…` : shown);
    }),
    { numRuns: 500 },
  );
});
