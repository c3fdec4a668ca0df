/** What names, ids and bodies of schemas may be (supplement 3.4, 3.3). Pure: it knows neither tables nor routes. */
import { AppError, valueAtKey } from '../../base/errors.ts';
import { compileSchema } from '../../room/schema/compile.ts';

/** Longest name of a schema. */
export const SCHEMA_NAME_LENGTH_MAX = 64;

const NAME = /^[a-z0-9-]+$/;
/** Nine digits fit the database's integer. */
const ID = /^([a-z0-9-]{1,64})@([1-9]\d{0,8})$/;

/** @throws AppError UNPROCESSABLE_ENTITY naming `name` (supplement 7, row 121). */
export function checkSchemaName(name: string): string {
  if (name.length < 1 || name.length > SCHEMA_NAME_LENGTH_MAX)
    throw valueAtKey('name', `must have 1 to ${SCHEMA_NAME_LENGTH_MAX} characters`);
  if (!NAME.test(name)) throw valueAtKey('name', 'may hold only lower-case letters, digits and dashes');
  return name;
}

/** The text, which is a schema. @throws AppError INVALID_SCHEMA with the position of the first error. */
export function checkSchemaBody(body: unknown): string {
  if (typeof body !== 'string') {
    const found = body === null ? 'null' : Array.isArray(body) ? 'an array' : typeof body;
    throw new AppError('INVALID_SCHEMA', { line: 1, column: 1, expected: 'the text of a schema as a string', found });
  }
  compileSchema(body);
  return body;
}

export interface SchemaId {
  readonly name: string;
  readonly version: number;
}

/** @throws AppError SCHEMA_NOT_FOUND: what is no id is the id of nothing (supplement 7, row 123). */
export function schemaIdOf(id: string): SchemaId {
  const [, name, version] = ID.exec(id) ?? [];
  if (name === undefined) throw new AppError('SCHEMA_NOT_FOUND', { id });
  return { name, version: Number(version) };
}

export function idOf({ name, version }: SchemaId): string {
  return `${name}@${version}`;
}

/** Where a page ended: the number of its last schema. */
export function cursorAfter(pk: number): string {
  return Buffer.from(JSON.stringify(['schemas', pk])).toString('base64url');
}

/** @throws AppError UNPROCESSABLE_ENTITY naming `startingAfter`. */
export function positionAt(cursor: string): number {
  const [, digits] = /^\["schemas",([1-9]\d{0,15})\]$/.exec(Buffer.from(cursor, 'base64url').toString()) ?? [];
  const pk = Number(digits);
  if (!Number.isSafeInteger(pk)) throw valueAtKey('startingAfter', 'is not a cursor of this list');
  return pk;
}
