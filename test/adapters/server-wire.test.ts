import { expect, test } from 'vitest';
import { addHeader, closeReason, emptyHeaders, plainAddress } from '../../src/adapters/server-wire.ts';

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.1.2.3', '10.1.2.3'],
  ['0000:0000:0000:0000:0000:ffff:7f00:0001', '127.0.0.1'],
  ['0000:0000:0000:0000:0000:ffff:fffe:00ff', '255.254.0.255'],
  ['::ffff:7f00:1', '127.0.0.1'],
  ['0000:0000:0000:0000:0000:0000:0000:0001', '::1'],
  ['2001:0db8:0000:0000:0000:0000:0000:00ff', '2001:db8::ff'],
  ['2001:db8::ff', '2001:db8::ff'],
  ['fe80::1%eth0', 'fe80::1%eth0'],
  ['', ''],
])('[TR2] the address %s is shown as %s', (text, shown) => {
  expect(plainAddress(text)).toBe(shown);
});

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
