import { expect, test } from 'vitest';
import { checkVersionId } from '../../../src/features/versions/rules.ts';

test('[VH21] an id begins with vh_; what is no id is the id of nothing (row 96)', () => {
  for (const id of ['vh_x', `vh_${'-'.repeat(64)}`]) expect(checkVersionId(id)).toBe(id);
  for (const id of ['', 'vh_', 'vx_1', 'vh_ä', 'vh_a b', 'vh_\u0000', `vh_${'x'.repeat(65)}`])
    expect(() => checkVersionId(id)).toThrow(`The version "${id}" does not exist.`);
});
