import { expect, test } from 'vitest';
import { addHeader, closeReason, emptyHeaders } from '../../src/adapters/server-wire.ts';

test.each([
  ['x'.repeat(123), 123],
  ['x'.repeat(124), 123],
  [`x${'€'.repeat(50)}`, 121],
  [`${'x'.repeat(120)}🙂`, 120],
  ['🙂'.repeat(40), 120],
])('[TR22] a reason is cut to whole characters within 123 bytes', (reason, bytes) => {
  const cut = closeReason(reason);
  expect(Buffer.byteLength(cut)).toBe(bytes);
  expect(reason.startsWith(cut)).toBe(true);
});

test('[TR1] a header named __proto__ is a header, and no prototype', () => {
  const headers = emptyHeaders();
  addHeader(headers, '__proto__', 'a');
  addHeader(headers, '__proto__', 'b');
  expect(Object.entries(headers)).toEqual([['__proto__', 'a, b']]);
  expect(Object.getPrototypeOf(headers)).toBeNull();
});
