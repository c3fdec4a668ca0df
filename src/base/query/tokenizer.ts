/**
 * Cuts a query such as `roomId^"a:" AND metadata["t"]:"x"` into tokens (supplement 4.1 and 4.4).
 *
 * It knows no fields and no grammar: what it cannot name becomes an `other` token, so that the parser alone says what it
 * expected. Every pattern here is a constant of ours and advances; none is built from input, none can backtrack far.
 */
import { AppError } from '../errors.ts';
import { isStorableText } from '../text.ts';

export type TokenKind = 'word' | 'string' | 'number' | 'operator' | 'bracket' | 'other' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** As written; '' for the end. */
  readonly text: string;
  /** What a string or number token stands for; else the text. */
  readonly value: string | number;
  /** Where it starts, counted in UTF-16 units from 1. */
  readonly column: number;
}

const SPACE = /\s+/y;
const RUN = /[\w.+-]+/y;
const OPERATOR = /[<>]=?|[:^]/y;
const QUOTED = /'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"/sy;
const ESCAPE = /\\(?:u([0-9a-fA-F]{4})|(.))/gs;
const WORD = /^[A-Za-z_]\w*$/;
const NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const ESCAPED: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

/**
 * The tokens of `text`, the last of kind `end`.
 * @throws AppError UNPROCESSABLE_ENTITY when a quote is not closed, or a string holds what nothing stored can hold.
 */
export function tokensOf(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at;
    return pattern.exec(text)?.[0];
  };
  while (at < text.length) {
    const space = take(SPACE);
    if (space !== undefined) {
      at += space.length;
      continue;
    }
    const token = tokenAt(text, at + 1, take);
    tokens.push(token);
    at += token.text.length;
  }
  tokens.push({ kind: 'end', text: '', value: '', column: text.length + 1 });
  return tokens;
}

/** 422 for a query, pointing at a column: what was expected there and what was found. */
export function queryError(column: number, expected: string, found: string): AppError {
  const reason = `fails at column ${column}: expected ${expected}, found ${found}`;
  return new AppError('UNPROCESSABLE_ENTITY', { key: 'query', reason, column });
}

function tokenAt(text: string, column: number, take: (pattern: RegExp) => string | undefined): Token {
  const run = take(RUN);
  if (run !== undefined) return bareToken(run, column);
  const operator = take(OPERATOR);
  if (operator !== undefined) return { kind: 'operator', text: operator, value: operator, column };
  const quoted = take(QUOTED);
  if (quoted !== undefined) return { kind: 'string', text: quoted, value: unquoted(quoted, column), column };
  const character = String.fromCodePoint(text.codePointAt(column - 1) ?? 0);
  if (character === '"' || character === "'")
    throw queryError(text.length + 1, `the closing ${character} of column ${column}`, 'the end');
  return { kind: character === '[' || character === ']' ? 'bracket' : 'other', text: character, value: character, column };
}

function bareToken(run: string, column: number): Token {
  if (WORD.test(run)) return { kind: 'word', text: run, value: run, column };
  const isNumber = NUMBER.test(run) && Number.isFinite(Number(run));
  return isNumber ? { kind: 'number', text: run, value: Number(run), column } : { kind: 'other', text: run, value: run, column };
}

/** JSON's escapes and `\'`, which is what the SDK writes (protocol 7.1); an unknown escape stands for its character. */
function unquoted(quoted: string, column: number): string {
  const value = quoted.slice(1, -1).replace(ESCAPE, (_, hex: string | undefined, character: string) => {
    return hex === undefined ? (ESCAPED[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16));
  });
  if (!isStorableText(value)) throw queryError(column, 'text', 'U+0000 or half of a surrogate pair in it');
  return value;
}
