import { expect, test } from 'vitest';
import { crc32 } from '../../src/base/crc32.ts';

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test('[JO11] the checksum is the CRC-32 of everybody else', () => {
  expect(crc32(bytes('123456789')) >>> 0).toBe(0xcbf43926); // the check value of the standard
  expect(crc32(new Uint8Array())).toBe(0);
});

test('[JO11] it fits into an SQL integer and can go on from an earlier part', () => {
  const whole = bytes('one two');
  expect(crc32(bytes('two'), crc32(bytes('one ')))).toBe(crc32(whole));
  for (let byte = 0; byte < 256; byte++) expect(crc32(new Uint8Array([byte])) | 0).toBe(crc32(new Uint8Array([byte])));
});

test('[JO11] of a text it is that of its bytes', () => {
  expect(crc32('12 3 4 5 ', 7)).toBe(crc32(bytes('12 3 4 5 '), 7));
  expect(crc32('')).toBe(0);
});
