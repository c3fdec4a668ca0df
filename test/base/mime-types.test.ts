import { expect, test } from 'vitest';
import { mimeTypeOf } from '../../src/base/mime-types.ts';

test.each([
  ['a.png', 'image/png'],
  ['A.PNG', 'image/png'],
  ['a.tar.gz', 'application/gzip'],
  ['.svg', 'image/svg+xml'],
  ['dir/a.b/c', 'application/octet-stream'],
  ['png', 'application/octet-stream'],
  ['a.', 'application/octet-stream'],
  ['', 'application/octet-stream'],
  ['a.nobodyknows', 'application/octet-stream'],
  ['a.constructor', 'application/octet-stream'],
  ['a.__proto__', 'application/octet-stream'],
])('[FI22] the type of %j is %s', (name, type) => {
  expect(mimeTypeOf(name)).toBe(type);
});
