/**
 * Cuts the text of a schema into tokens, each with its line and column (supplement 3.1).
 *
 * It knows no grammar: what it cannot name becomes an `other` token, so that the parser alone says what it expected. Every pattern is
 * a constant and advances; none can backtrack far.
 */
import { AppError } from '../../base/errors.ts';
import { isStorableText } from '../../base/text.ts';

export type TokenKind = 'word' | 'string' | 'number' | 'mark' | 'other' | 'end';

/** Where something stands, both counted from 1; a column is a UTF-16 unit. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface Token extends Position {
  readonly kind: TokenKind;
  /** As written; '' for the end. */
  readonly text: string;
  /** What a string or number token stands for; else the text. */
  readonly value: string | number;
  /** Whether a line break comes before it: fields may be separated by nothing else. */
  readonly startsLine: boolean;
  /** Of its first character in the text. */
  readonly offset: number;
}

/** Longest schema, in UTF-16 units (supplement 3.3 row 13); some thousand types. */
export const SCHEMA_LENGTH_MAX = 65_536;
/** How much of a token a message quotes. */
const QUOTED_LENGTH_MAX = 40;

const SKIPPED = /(?:[^\S\r\n]+|\/\/[^\r\n]*|\r\n?|\n)+/y;
const LINE_BREAK = /\r\n?|\n/g;
const WORD = /[A-Za-z_]\w*/y;
/** None begins right after a digit: whatever made that one no number, its rest is none either, and is not looked at digit by digit. */
const NUMBER = /-?(?<!\d)\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.])/y;
const QUOTED = /'(?:[^'\\\r\n]|\\[^\r\n])*'|"(?:[^"\\\r\n]|\\[^\r\n])*"/y;
const MARK = /[{}[\]()<>|,;:?]/y;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/gs;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/** 422: what was expected at a place of a schema, and what stands there. */
export function schemaError({ line, column }: Position, expected: string, found: string): AppError {
  return new AppError('INVALID_SCHEMA', { line, column, expected, found });
}

/** A token as messages quote it. */
export function quoted({ kind, text }: Pick<Token, 'kind' | 'text'>): string {
  if (kind === 'end') return 'the end';
  return text.length > QUOTED_LENGTH_MAX ? `${text.slice(0, QUOTED_LENGTH_MAX)}…` : text;
}

/**
 * The tokens of a schema, the last of kind `end`.
 * @throws AppError INVALID_SCHEMA for a text too long, one that cannot be stored, a quote that is not closed, a number out of range.
 */
export function tokensOf(text: string): Token[] {
  if (text.length > SCHEMA_LENGTH_MAX) {
    throw schemaError(positionAt(text, SCHEMA_LENGTH_MAX), `a schema of at most ${SCHEMA_LENGTH_MAX} characters`, 'more');
  }
  if (!isStorableText(text))
    throw schemaError(positionAt(text, unstorableAt(text)), 'text', 'U+0000 or half of a surrogate pair');
  const tokens: Token[] = [];
  let place = { offset: 0, line: 1, lineStart: 0, startsLine: true };
  for (;;) {
    place = skip(text, place);
    const { offset, line, lineStart, startsLine } = place;
    const column = offset - lineStart + 1;
    // Written out: copies by spread take longer than all that is looked for in the text.
    const { kind, text: written, value } = cut(text, offset, { line, column });
    tokens.push({ kind, text: written, value, line, column, offset, startsLine });
    if (kind === 'end') return tokens;
    place = { offset: offset + written.length, line, lineStart, startsLine: false };
  }
}

interface Place {
  readonly offset: number;
  readonly line: number;
  /** Offset of the first character of the line. */
  readonly lineStart: number;
  readonly startsLine: boolean;
}

/** Past blanks, line breaks and comments. */
function skip(text: string, place: Place): Place {
  const skipped = match(SKIPPED, text, place.offset);
  if (skipped === undefined) return place;
  const breaks = [...skipped.matchAll(LINE_BREAK)];
  const last = breaks.at(-1);
  const offset = place.offset + skipped.length;
  if (last === undefined) return { ...place, offset };
  return { offset, line: place.line + breaks.length, lineStart: place.offset + last.index + last[0].length, startsLine: true };
}

function cut(text: string, offset: number, at: Position): Pick<Token, 'kind' | 'text' | 'value'> {
  if (offset === text.length) return { kind: 'end', text: '', value: '' };
  const word = match(WORD, text, offset);
  if (word !== undefined) return { kind: 'word', text: word, value: word };
  const mark = match(MARK, text, offset);
  if (mark !== undefined) return { kind: 'mark', text: mark, value: mark };
  const digits = match(NUMBER, text, offset);
  if (digits !== undefined) return { kind: 'number', text: digits, value: finite(digits, at) };
  const string = match(QUOTED, text, offset);
  if (string !== undefined) return { kind: 'string', text: string, value: unquoted(string, at) };
  const character = String.fromCodePoint(text.codePointAt(offset)!);
  if (character === '"' || character === "'") throw schemaError(at, `a closing ${character} on the same line`, 'none');
  return { kind: 'other', text: character, value: character };
}

function match(pattern: RegExp, text: string, offset: number): string | undefined {
  pattern.lastIndex = offset;
  return pattern.test(text) ? text.slice(offset, pattern.lastIndex) : undefined;
}

function finite(digits: string, at: Position): number {
  const value = Number(digits);
  if (!Number.isFinite(value)) throw schemaError(at, 'a number that JSON can hold', quoted({ kind: 'number', text: digits }));
  return value;
}

/** JSON's escapes and `\'`; an unknown escape stands for its character. */
function unquoted(string: string, at: Position): string {
  const value = string.slice(1, -1).replace(ESCAPE, (_, hex: string | undefined, character: string) => {
    return hex === undefined ? (ESCAPED[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16));
  });
  if (!isStorableText(value)) throw schemaError(at, 'text', 'U+0000 or half of a surrogate pair in it');
  return value;
}

function positionAt(text: string, offset: number): Position {
  const breaks = [...text.slice(0, offset).matchAll(LINE_BREAK)];
  const last = breaks.at(-1);
  return { line: breaks.length + 1, column: offset - (last === undefined ? 0 : last.index + last[0].length) + 1 };
}

function unstorableAt(text: string): number {
  let offset = 0;
  for (const character of text) {
    if (!isStorableText(character)) return offset;
    offset += character.length;
  }
  return offset;
}
