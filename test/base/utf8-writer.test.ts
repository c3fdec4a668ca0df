import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Utf8Writer } from '../../src/base/utf8-writer.ts';

test('pieces of any text, short and long, become the bytes of all of it', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.string(), fc.string({ unit: 'grapheme', maxLength: 200 }))),
      fc.nat(100),
      (pieces, bytesExpected) => {
        const writer = new Utf8Writer(bytesExpected);
        for (const piece of pieces) writer.write(piece);
        expect(Buffer.from(writer.done()).toString()).toBe(pieces.join(''));
      },
    ),
  );
});
