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
        const bytes = writer.done();
        expect(Buffer.from(bytes).toString()).toBe(pieces.join(''));
        expect(bytes.buffer.byteLength).toBeLessThanOrEqual(2 * bytes.length);
      },
    ),
  );
});

test('what is kept of a long piece is not three times as long', () => {
  const writer = new Utf8Writer(80);
  writer.write('x'.repeat(1_000_000));
  expect(writer.done().buffer.byteLength).toBe(1_000_000);
});

test('any text, quoted, is the JSON of it', () => {
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: 'binary', maxLength: 100 }),
    fc.constantFrom('', '"', '\\', '\u001f', '\u007f', '~', '\ud800'),
  );
  fc.assert(
    fc.property(fc.array(text), fc.nat(100), (texts, bytesExpected) => {
      const writer = new Utf8Writer(bytesExpected);
      for (const one of texts) writer.writeQuoted(one);
      expect(Buffer.from(writer.done()).toString()).toBe(texts.map((one) => JSON.stringify(one)).join(''));
    }),
  );
});
