/** Random text and text operations, small enough to meet each other often. */
import fc from 'fast-check';
import type { LiveTextData, TextOperation } from '../../../src/protocol/storage-ops.ts';

const aRun = fc.string({ unit: fc.constantFrom('a', 'b', '😀', '\n'), maxLength: 4 });
const attributes = fc.dictionary(fc.constantFrom('b', 'i', 'c'), fc.constantFrom(true, 1, 'red'), {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
});
const patch = fc.dictionary(fc.constantFrom('b', 'i', 'c'), fc.constantFrom(true, 1, 'red', null), {
  minKeys: 1,
  maxKeys: 2,
  noNullPrototype: true,
});

export const aText: fc.Arbitrary<LiveTextData> = fc.array(fc.oneof(fc.tuple(aRun), fc.tuple(aRun, attributes)), { maxLength: 4 });

/** Operations for texts of about `length`; some reach beyond it. */
export function textOperations(length: number): fc.Arbitrary<TextOperation[]> {
  const index = fc.nat(length);
  return fc.array(
    fc.oneof(
      fc.record({ type: fc.constant('insert' as const), index, text: aRun }),
      fc.record({ type: fc.constant('insert' as const), index, text: aRun, attributes }),
      fc.record({ type: fc.constant('delete' as const), index, length: fc.nat(6) }),
      fc.record({ type: fc.constant('format' as const), index, length: fc.nat(6), attributes: patch }),
    ),
    { maxLength: 4 },
  );
}
