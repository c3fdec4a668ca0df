/**
 * The examples of all operations. An operation without one fails `operations.test.ts`: add a line to the file of its feature, or a file.
 */
import { ABOUT_EXAMPLES, SCHEMA_EXAMPLES, STORAGE_EXAMPLES, YDOC_EXAMPLES } from './documents.ts';
import type { Examples } from './example.ts';
import { FILE_EXAMPLES } from './files.ts';
import { ROOM_EXAMPLES, TOKEN_EXAMPLES } from './rooms.ts';
import { VERSION_EXAMPLES } from './versions.ts';

export const EXAMPLES: Examples = {
  ...ROOM_EXAMPLES,
  ...TOKEN_EXAMPLES,
  ...STORAGE_EXAMPLES,
  ...FILE_EXAMPLES,
  ...YDOC_EXAMPLES,
  ...SCHEMA_EXAMPLES,
  ...VERSION_EXAMPLES,
  ...ABOUT_EXAMPLES,
};
