import { expect, test } from 'vitest';
import { AppError, errorBody } from '../../src/base/errors.ts';

test('[AE26] a message that quotes what is long has at most 1,000 characters: its beginning and its end', () => {
  const facts = { index: 2, op: 'copy', path: `/list/${'x'.repeat(70_000)}`, reason: 'the path does not exist' };
  const { message } = errorBody(new AppError('INVALID_STORAGE_MUTATION_REQUEST', facts));
  expect(message).toHaveLength(1_000);
  expect(message).toMatch(/^Operation 2 \(copy at "\/list\/xxx/);
  expect(message).toMatch(/…x+"\) failed: the path does not exist\. Nothing was changed\.$/);
  const short = new AppError('RESOURCE_NOT_FOUND', { kind: 'thread', id: 't'.repeat(900) });
  expect(short.message).toBe(`The thread "${'t'.repeat(900)}" does not exist.`);
});
