import { expect, test } from 'vitest';
import { isFileId } from '../../../src/features/files/rules.ts';

test('[FI21] an id is fl_ and 21 letters, digits, dashes or underscores', () => {
  expect([isFileId(`fl_${'aZ0-_'.repeat(4)}x`), isFileId(`fl_${'a'.repeat(20)}`), isFileId(`fl_${'a'.repeat(22)}`)]).toEqual([
    true,
    false,
    false,
  ]);
  expect([isFileId(`xfl_${'a'.repeat(21)}`), isFileId(`fl_${'a'.repeat(21)}\n`), isFileId('')]).toEqual([false, false, false]);
});
