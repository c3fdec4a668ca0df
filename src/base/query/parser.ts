/**
 * Parses the filter language of lists: clauses of field, operator and value, all of which must hold (supplement 4).
 *
 * It knows the grammar, not the fields: the caller's table says which there are and which operators and values each takes.
 */
import { valueAtKey } from '../errors.ts';
import { queryError, type Token, tokensOf } from './tokenizer.ts';

export type Operator = ':' | '^' | '>' | '<' | '>=' | '<=';
export type ValueKind = 'string' | 'number' | 'boolean' | 'null';

export interface FieldRule {
  /** `keyed` fields are written `name["key"]`, plain ones `name`. */
  readonly form: 'plain' | 'keyed';
  /** The operators the field takes, each with the kinds of value it takes. */
  readonly operators: { readonly [operator in Operator]?: readonly ValueKind[] };
}

export type QueryFields = Readonly<Record<string, FieldRule>>;

/** One condition. `key` is null for plain fields. */
export interface Clause<Fields extends QueryFields = QueryFields> {
  readonly field: keyof Fields & string;
  readonly key: string | null;
  readonly operator: Operator;
  readonly value: string | number | boolean | null;
  /** Where the clause starts, counted from 1. */
  readonly column: number;
}

/** Bounds of one query (supplement 4.4, row 10): beyond them a query is a program, and each clause costs every row read. */
export const QUERY_LIMITS = { lengthMax: 4_096, clausesMax: 25, keyLengthMax: 40 } as const;

const LITERALS: ReadonlyMap<string, boolean | null> = new Map([
  ['true', true],
  ['false', false],
  ['null', null],
]);
const KIND_WORDS: Readonly<Record<ValueKind, string>> = {
  string: 'a quoted string',
  number: 'a number',
  boolean: 'true or false',
  null: 'null',
};

/**
 * The clauses of a query, in order; none for an empty one. Repeated fields are kept: all clauses hold together.
 * @throws AppError UNPROCESSABLE_ENTITY naming `query`, the column, what was expected there and what stands there.
 */
export function parseQuery<Fields extends QueryFields>(text: string, fields: Fields): Clause<Fields>[] {
  if (text.length > QUERY_LIMITS.lengthMax) throw valueAtKey('query', `is longer than ${QUERY_LIMITS.lengthMax} characters`);
  const cursor = new Cursor(tokensOf(text));
  const clauses: Clause<Fields>[] = [];
  while (cursor.next.kind !== 'end') {
    if (clauses.length > 0 && isAnd(cursor.next)) cursor.take();
    if (clauses.length === QUERY_LIMITS.clausesMax) {
      throw queryError(cursor.next.column, `at most ${QUERY_LIMITS.clausesMax} clauses`, 'one more');
    }
    clauses.push(clauseAt(cursor, fields, clauses.length === 0 ? '' : 'AND or '));
  }
  return clauses;
}

/** Where the parser stands. The last token is the end, and nobody takes it. */
class Cursor {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  get next(): Token {
    return this.#tokens[this.#at]!;
  }

  take(): Token {
    const token = this.next;
    this.#at += 1;
    return token;
  }

  takeExactly(text: '[' | ']'): void {
    if (this.next.text !== text) this.refuse(text);
    this.take();
  }

  refuse(expected: string): never {
    const { kind, text, column } = this.next;
    throw queryError(column, expected, kind === 'end' ? 'the end' : text.length > 40 ? `${text.slice(0, 40)}…` : text);
  }
}

function clauseAt<Fields extends QueryFields>(cursor: Cursor, fields: Fields, orElse: string): Clause<Fields> {
  const { kind, text: field, column } = cursor.next;
  if (kind !== 'word' || !Object.hasOwn(fields, field)) cursor.refuse(`${orElse}a field (${Object.keys(fields).join(', ')})`);
  cursor.take();
  const { form, operators } = fields[field]!;
  const key = form === 'keyed' ? keyAt(cursor) : null;
  const operator = cursor.next.text as Operator;
  const kinds = cursor.next.kind === 'operator' ? operators[operator] : undefined;
  if (kinds === undefined) cursor.refuse(`one of the operators ${Object.keys(operators).join(' ')}`);
  cursor.take();
  return { field, key, operator, value: valueAt(cursor, kinds), column };
}

function keyAt(cursor: Cursor): string {
  cursor.takeExactly('[');
  const { kind, value } = cursor.next;
  if (kind !== 'string') cursor.refuse('a quoted key');
  if (String(value).length > QUERY_LIMITS.keyLengthMax) cursor.refuse(`a key of at most ${QUERY_LIMITS.keyLengthMax} characters`);
  cursor.take();
  cursor.takeExactly(']');
  return String(value);
}

function valueAt(cursor: Cursor, kinds: readonly ValueKind[]): string | number | boolean | null {
  const value = literalOf(cursor.next);
  const kind = value === null ? 'null' : (typeof value as ValueKind | 'undefined');
  if (value === undefined || kind === 'undefined' || !kinds.includes(kind)) {
    cursor.refuse(kinds.map((allowed) => KIND_WORDS[allowed]).join(', or '));
  }
  cursor.take();
  return value;
}

function literalOf(token: Token): string | number | boolean | null | undefined {
  if (token.kind === 'string' || token.kind === 'number') return token.value;
  return token.kind === 'word' ? LITERALS.get(token.text) : undefined;
}

function isAnd(token: Token): boolean {
  return token.kind === 'word' && token.text.toLowerCase() === 'and';
}
