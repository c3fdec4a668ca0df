import { expect, test } from 'vitest';
import { checkSchemaBody, checkSchemaName, cursorAfter, positionAt, schemaIdOf } from '../../../src/features/schemas/rules.ts';

test.each(['a', 'my-schema-2', '-', 'x'.repeat(64)])(
  '[SC60] a name is 1 to 64 lower-case letters, digits and dashes: %s',
  (name) => {
    expect(checkSchemaName(name)).toBe(name);
  },
);

test.each(['', 'x'.repeat(65), 'My-schema', 'my_schema', 'my schema', 'ä', 'a@1', 'a\n'])(
  '[SC61] and nothing else (row 121): "%s"',
  (name) => {
    expect(() => checkSchemaName(name)).toThrow(
      /^Value at key 'name' (must have 1 to 64 characters|may hold only lower-case letters, digits and dashes)\.$/,
    );
  },
);

test.each([
  ['a@1', 'a', 1],
  ['my-schema-2@17', 'my-schema-2', 17],
  ['a@999999999', 'a', 999_999_999],
])('[SC62] an id is a name and a version: %s', (id, name, version) => {
  expect(schemaIdOf(id)).toEqual({ name, version });
});

test.each(['a', 'a@', '@1', 'a@0', 'a@01', 'a@1.0', 'a@-1', 'a@1@1', 'A@1', 'a@9999999999', ''])(
  '[SC63] what is no id is the id of nothing (row 123): "%s"',
  (id) => {
    expect(() => schemaIdOf(id)).toThrow(expect.objectContaining({ code: 'SCHEMA_NOT_FOUND', facts: { id } }));
  },
);

test.each([
  [3, 'number'],
  [null, 'null'],
  [['type Storage {}'], 'an array'],
  [{ text: '' }, 'object'],
])('[SC64] a body that is no string is a schema with an error: %j', (body, found) => {
  expect(() => checkSchemaBody(body)).toThrow(
    expect.objectContaining({
      code: 'INVALID_SCHEMA',
      facts: { line: 1, column: 1, expected: 'the text of a schema as a string', found },
    }),
  );
});

test('[SC65] a cursor leads back to where it was made, and anything else is none', () => {
  expect(positionAt(cursorAfter(12))).toBe(12);
  for (const cursor of ['', 'x', cursorAfter(0), cursorAfter(1.5), Buffer.from('["rooms",1]').toString('base64url')])
    expect(() => positionAt(cursor)).toThrow("Value at key 'startingAfter' is not a cursor of this list.");
});
