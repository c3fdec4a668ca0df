/** How a schema is refused, in one line. */
import { AppError } from '../../../src/base/errors.ts';
import { compileSchema } from '../../../src/room/schema/compile.ts';

/** `line:column: expected …, found …`. @throws what is no refusal of a schema, and an Error for a schema that is accepted */
export function refusalOf(text: string): string {
  try {
    compileSchema(text);
  } catch (error) {
    if (!(error instanceof AppError) || error.code !== 'INVALID_SCHEMA') throw error;
    const { line, column, expected, found } = error.facts;
    return `${line}:${column}: expected ${expected}, found ${found}`;
  }
  throw new Error(`accepted: ${text}`);
}
