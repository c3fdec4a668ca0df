import { expect, test } from 'vitest';
import { dutyAt, LEASE } from '../../../src/kernel/cluster/lease.ts';

test('[OW5] a worker serves for 3.5 s after sending its last renewal, and not a moment longer', () => {
  const lease = { renewalSentMs: 1_000 };
  expect(dutyAt(1_000, lease)).toBe('serve');
  expect(dutyAt(4_499.9, lease)).toBe('serve');
  expect(dutyAt(4_500, lease)).toBe('stop');
  expect(dutyAt(9_000, lease)).toBe('stop');
});

test('[OW5] it stops before anybody may take its actors', () => {
  expect(LEASE.servesForMs).toBeLessThan(LEASE.lastsMs);
});
