import { expect, test } from 'vitest';
import { hostAndPort, localUrl } from '../../src/base/address.ts';

test.each([
  ['127.0.0.1', 'http://127.0.0.1:8080'],
  ['rooms.internal', 'http://rooms.internal:8080'],
  ['0.0.0.0', 'http://localhost:8080'],
  ['::', 'http://localhost:8080'],
  ['::1', 'http://[::1]:8080'],
  ['fd00::2', 'http://[fd00::2]:8080'],
])('[AP8] a server on HOST=%s is found at %s', (host, url) => {
  expect(localUrl(host, 8080)).toBe(url);
  expect(new URL(url).port).toBe('8080');
});

test('[AP8] another worker finds one on an IPv6 address', () => {
  expect(hostAndPort('fd00::2', 7000)).toBe('[fd00::2]:7000');
  expect(hostAndPort('10.0.0.2', 7000)).toBe('10.0.0.2:7000');
});
