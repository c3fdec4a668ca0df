import { expect, test } from 'vitest';
import { isStorableText } from '../../src/base/text.ts';

test('[RM1] text is storable unless it holds U+0000 or half of a surrogate pair', () => {
  expect(isStorableText('é \u{1f600} \n')).toBe(true);
  expect(isStorableText('')).toBe(true);
  expect(isStorableText('a\0b')).toBe(false);
  expect(isStorableText('a\ud800')).toBe(false);
  expect(isStorableText('\udc00\ud800')).toBe(false);
});
