/**
 * Parses the schema language into a tree with positions (supplement 3.1). Knows the grammar; what names mean and which types may stand
 * where, `check.ts` knows.
 */
import { isForbiddenKey } from '../../base/json.ts';
import { type Position, quoted, schemaError, type Token, tokensOf } from './tokens.ts';

/** Brackets of all kinds within each other. Values are nested no deeper, so a type nested deeper would match none. */
export const SCHEMA_NESTING_MAX = 32;
/** How much of a type messages show. */
const TYPE_TEXT_MAX = 80;
const BLANK = /\s/;

export const SCALARS = ['string', 'number', 'boolean', 'null'] as const;
export const LIVE_TYPES = ['LiveObject', 'LiveList', 'LiveMap', 'LiveText', 'LiveFile'] as const;
type Scalar = (typeof SCALARS)[number];

export interface Definition extends Position {
  readonly name: string;
  readonly body: ObjectBody;
}

export interface ObjectBody {
  readonly fields: readonly FieldSyntax[];
}

export interface FieldSyntax {
  readonly name: string;
  readonly isOptional: boolean;
  readonly type: TypeSyntax;
}

/** A type is a union, mostly of one; unions in parentheses are taken apart. */
export interface TypeSyntax {
  /** As written, on one line, shortened when it is long. */
  readonly text: string;
  readonly members: readonly MemberSyntax[];
}

export type MemberSyntax = Position &
  (
    | { readonly is: 'scalar'; readonly scalar: Scalar }
    | { readonly is: 'literal'; readonly value: string | number | boolean }
    | { readonly is: 'array'; readonly items: TypeSyntax }
    | PlainObject
    | { readonly is: 'LiveObject'; readonly of: PlainObject & Position }
    | { readonly is: 'LiveList'; readonly items: TypeSyntax }
    | { readonly is: 'LiveMap'; readonly items: TypeSyntax }
    | { readonly is: 'LiveText' }
    | { readonly is: 'LiveFile' }
  );

/** An object type, written out or by its name. */
export type PlainObject = { readonly is: 'object'; readonly body: ObjectBody } | { readonly is: 'name'; readonly name: string };

export interface SchemaSyntax {
  readonly definitions: readonly Definition[];
  /** Where the text ends. */
  readonly end: Position;
}

/**
 * The definitions of a schema, in order.
 * @throws AppError INVALID_SCHEMA with line, column, what was expected there and what stands there.
 */
export function parseSchema(text: string): SchemaSyntax {
  const cursor = new Cursor(text);
  const definitions = new Map<string, Definition>();
  while (cursor.next.kind !== 'end') {
    const definition = definitionAt(cursor, definitions);
    definitions.set(definition.name, definition);
  }
  return { definitions: [...definitions.values()], end: cursor.next };
}

/** Where the parser stands. The last token is the end, and nobody takes it. */
class Cursor {
  readonly #line: OnOneLine;
  readonly #tokens: readonly Token[];
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#tokens = tokensOf(text);
    this.#line = onOneLine(text);
  }

  get next(): Token {
    return this.#tokens[this.#at]!;
  }

  take(): Token {
    const token = this.next;
    this.#at += 1;
    return token;
  }

  /** Takes the mark if it stands here. */
  takes(mark: string): boolean {
    if (!this.stands(mark)) return false;
    this.#at += 1;
    return true;
  }

  stands(text: string): boolean {
    return this.next.text === text;
  }

  takeExactly(mark: string, expected: string): void {
    if (!this.takes(mark)) this.refuse(expected);
  }

  refuse(expected: string): never {
    throw schemaError(this.next, expected, quoted(this.next));
  }

  /** Everything since `from`, on one line. */
  textSince(from: Token): string {
    const { text, places } = this.#line;
    const last = this.#tokens[this.#at - 1]!;
    const start = places[from.offset]!;
    const end = places[last.offset + last.text.length]!;
    return end - start > TYPE_TEXT_MAX ? `${text.slice(start, start + TYPE_TEXT_MAX)}…` : text.slice(start, end);
  }

  /** Reads what brackets hold, or refuses to go deeper. */
  deeper<Read>(read: () => Read): Read {
    if (this.#depth === SCHEMA_NESTING_MAX) this.refuse(`types nested at most ${SCHEMA_NESTING_MAX} deep`);
    this.#depth += 1;
    const result = read();
    this.#depth -= 1;
    return result;
  }
}

interface OnOneLine {
  /** Each run of blanks and line breaks as one blank. */
  readonly text: string;
  /** For each place of what was written, up to its end, where that is in the text. */
  readonly places: Uint32Array;
}

/** Of the whole text at once: types stand in types, and each is shown. */
function onOneLine(written: string): OnOneLine {
  const places = new Uint32Array(written.length + 1);
  let place = 0;
  let follows = false; // a blank
  for (let at = 0; at < written.length; at += 1) {
    places[at] = place;
    const isBlank = BLANK.test(written.charAt(at));
    if (!isBlank || !follows) place += 1;
    follows = isBlank;
  }
  places[written.length] = place;
  return { text: written.replace(/\s+/g, ' '), places };
}

function definitionAt(cursor: Cursor, known: ReadonlyMap<string, Definition>): Definition {
  if (!cursor.stands('type')) cursor.refuse('a definition, which begins with the word type');
  cursor.take();
  const { kind, text: name, line, column } = cursor.next;
  if (isBuiltIn(name)) cursor.refuse('a name that the language does not use itself');
  if (kind !== 'word' || !/^[A-Z]/.test(name)) cursor.refuse('a name that begins with an upper-case letter');
  if (known.has(name)) cursor.refuse('a name that no other definition has');
  cursor.take();
  if (cursor.stands('=')) cursor.refuse('{ right after the name, without an equals sign');
  return { line, column, name, body: bodyAt(cursor) };
}

function isBuiltIn(name: string): boolean {
  return [...SCALARS, ...LIVE_TYPES, 'true', 'false'].some((taken) => taken === name);
}

function bodyAt(cursor: Cursor): ObjectBody {
  cursor.takeExactly('{', '{ and the fields of an object');
  return cursor.deeper(() => {
    const fields = new Map<string, FieldSyntax>();
    while (!cursor.takes('}')) {
      const field = fieldAt(cursor, fields);
      fields.set(field.name, field);
      const isSeparated = cursor.takes(',') || cursor.takes(';') || cursor.next.startsLine;
      if (!isSeparated && !cursor.stands('}')) cursor.refuse('a comma, a semicolon or a new line before the next field, or }');
    }
    return { fields: [...fields.values()] };
  });
}

function fieldAt(cursor: Cursor, known: ReadonlyMap<string, FieldSyntax>): FieldSyntax {
  const { kind, value } = cursor.next;
  if (kind !== 'word' && kind !== 'string') cursor.refuse('the name of a field, or }');
  const name = String(value);
  if (isForbiddenKey(name)) cursor.refuse('a name that Storage may hold');
  if (known.has(name)) cursor.refuse('a name that no other field of the object has');
  cursor.take();
  const isOptional = cursor.takes('?');
  cursor.takeExactly(
    ':',
    isOptional ? 'a colon and the type of the field' : 'a colon and the type of the field, or ? before them',
  );
  return { name, isOptional, type: typeAt(cursor) };
}

function typeAt(cursor: Cursor): TypeSyntax {
  const from = cursor.next;
  const members = [...memberAt(cursor)];
  while (cursor.takes('|')) members.push(...memberAt(cursor));
  return { text: cursor.textSince(from), members };
}

/** One member with the brackets behind it; several when it is a union in parentheses. */
function memberAt(cursor: Cursor): readonly MemberSyntax[] {
  const from = cursor.next;
  let members = primaryAt(cursor);
  for (let brackets = 0; cursor.takes('['); brackets += 1) {
    const items = { text: cursor.textSince(from).slice(0, -1).trimEnd(), members };
    if (brackets === SCHEMA_NESTING_MAX) cursor.refuse(`types nested at most ${SCHEMA_NESTING_MAX} deep`);
    cursor.takeExactly(']', '] right after [');
    members = [{ is: 'array', line: from.line, column: from.column, items }];
  }
  return members;
}

function primaryAt(cursor: Cursor): readonly MemberSyntax[] {
  const { kind, text, value, line, column } = cursor.next;
  if (cursor.stands('{')) return [{ line, column, is: 'object', body: bodyAt(cursor) }];
  if (cursor.takes('(')) return parenthesised(cursor);
  if (kind === 'string' || kind === 'number') {
    cursor.take();
    return [{ line, column, is: 'literal', value }];
  }
  if (kind !== 'word') cursor.refuse('a type');
  return [Object.assign(wordAt(cursor, text), { line, column })];
}

function parenthesised(cursor: Cursor): readonly MemberSyntax[] {
  return cursor.deeper(() => {
    const { members } = typeAt(cursor);
    cursor.takeExactly(')', '| and another type, or )');
    return members;
  });
}

type WordMember = MemberSyntax extends infer Member ? (Member extends Position ? Omit<Member, keyof Position> : never) : never;

function wordAt(cursor: Cursor, word: string): WordMember {
  const scalar = SCALARS.find((known) => known === word);
  const isKnown = scalar !== undefined || word === 'true' || word === 'false' || /^[A-Z]/.test(word);
  if (!isKnown)
    cursor.refuse('a type that the language has: string, number, boolean, null, a literal, {, a Live type or the name of one');
  cursor.take();
  if (scalar !== undefined) return { is: 'scalar', scalar };
  switch (word) {
    case 'true':
    case 'false':
      return { is: 'literal', value: word === 'true' };
    case 'LiveText':
    case 'LiveFile':
      return { is: word };
    case 'LiveObject':
      return { is: word, of: argumentsAt(cursor, () => objectAt(cursor)) };
    case 'LiveList':
      return { is: word, items: argumentsAt(cursor, () => typeAt(cursor)) };
    case 'LiveMap':
      return { is: word, items: argumentsAt(cursor, () => mapItemsAt(cursor)) };
    default:
      return { is: 'name', name: word };
  }
}

function argumentsAt<Read>(cursor: Cursor, read: () => Read): Read {
  cursor.takeExactly('<', '< and what the Live type holds');
  return cursor.deeper(() => {
    const result = read();
    cursor.takeExactly('>', '>');
    return result;
  });
}

/** What a LiveObject holds: an object type, nothing else. */
function objectAt(cursor: Cursor): PlainObject & Position {
  const { kind, text, line, column } = cursor.next;
  if (cursor.stands('{')) return { line, column, is: 'object', body: bodyAt(cursor) };
  if (kind !== 'word' || !/^[A-Z]/.test(text) || isBuiltIn(text)) cursor.refuse('the name of an object type, or {');
  cursor.take();
  return { line, column, is: 'name', name: text };
}

function mapItemsAt(cursor: Cursor): TypeSyntax {
  if (!cursor.stands('string')) cursor.refuse('string: the keys of a LiveMap are strings');
  cursor.take();
  cursor.takeExactly(',', 'a comma and the type of the entries');
  return typeAt(cursor);
}
