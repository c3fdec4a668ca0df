import { expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { checkOlderKinds, olderDocument } from '../../../src/features/v1/rules.ts';

const FILE = { id: `fl_${'A'.repeat(21)}`, name: 'a.bin', size: 9, mimeType: 'application/octet-stream' };

test.each(['serviceType', 'liveblocksType'])(
  '[VO2] a document under %s is shown with the three kinds; a text as segments, a file as metadata',
  (key) => {
    const node = (kind: string, data: unknown) => ({ [key]: kind, data });
    const document = node('LiveObject', {
      n: null,
      plain: { a: [1] },
      map: node('LiveMap', { t: node('LiveText', [['Hi', { bold: true }]]) }),
      list: node('LiveList', [node('LiveFile', FILE), node('LiveText', [])]),
    });
    expect(olderDocument(document as never, key)).toEqual(
      node('LiveObject', {
        n: null,
        plain: { a: [1] },
        map: node('LiveMap', { t: [['Hi', { bold: true }]] }),
        list: node('LiveList', [FILE, []]),
      }),
    );
  },
);

test('[VO3] a document with a kind that came later is refused, with the place', () => {
  const refusal = (document: unknown) => {
    try {
      checkOlderKinds(document as never);
    } catch (error) {
      if (error instanceof AppError) return error.message;
      throw error;
    }
    return null;
  };
  const root = (a: unknown) => ({ serviceType: 'LiveObject', data: { 'a/b': a } });
  expect(refusal(root({ liveblocksType: 'LiveList', data: [1, { serviceType: 'LiveText', data: 'x' }] }))).toBe(
    "Value at key '/data/a~1b/data/1/serviceType' must be one of LiveObject, LiveList, LiveMap; /v2 takes the others.",
  );
  expect(refusal(root({ liveblocksType: 'LiveFile', data: FILE }))).toContain("'/data/a~1b/liveblocksType'");
  expect(refusal(root({ liveblocksType: 'LiveMap', data: {} }))).toBeNull();
});
