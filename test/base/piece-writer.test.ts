import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type NamedPieces, PieceWriter } from '../../src/base/piece-writer.ts';
import { bytesIn, textIn } from '../../src/base/pieces.ts';
import type { Utf8Writer } from '../../src/base/utf8-writer.ts';

interface Member {
  readonly name: string;
  readonly text: string;
}

interface Before {
  readonly pieces: NamedPieces;
  readonly scratch: Utf8Writer | null;
}

const NONE: Before = { pieces: new Map(), scratch: null };

function written(members: readonly Member[], { pieces, scratch }: Before = NONE): Before {
  const out = new PieceWriter({ before: pieces, scratch, bytesExpected: 1_000 });
  for (const { name, text } of members) {
    out.member(name);
    out.raw(text);
  }
  return out.end();
}

const textOf = ({ pieces }: Before): string => textIn([...pieces.values()]);
/** Bytes of the pieces that are not those of before. */
const newOf = (after: Before, before: Before): number => {
  const known = new Set(before.pieces.values());
  return bytesIn([...after.pieces.values()].filter((piece) => !known.has(piece)));
};
const membersOf = (count: number): Member[] =>
  Array.from({ length: count }, (_, at) => ({ name: `1:${at}`, text: `${at} `.repeat(12) }));
const joined = (members: readonly Member[]): string => members.map(({ text }) => text).join('');

test('[DO8] what is short is one piece, and what is long some of 32 to 128 KB', () => {
  expect(written([]).pieces.size).toBe(1);
  expect(written(membersOf(100)).pieces.size).toBe(1);
  const sizes = [...written(membersOf(20_000)).pieces.values()].map(({ length }) => length);
  expect(sizes.length).toBeGreaterThan(10);
  expect(sizes.reduce((sum, size) => sum + size) / sizes.length).toBeLessThan(48 * 1024);
  for (const size of sizes.slice(0, -1)) {
    expect(size).toBeGreaterThanOrEqual(32 * 1024);
    expect(size).toBeLessThan(129 * 1024);
  }
});

test('[DO8] after a member that changed, came or went the pieces around it are new, and all others those of before', () => {
  const members = membersOf(20_000);
  const before = written(members);
  expect(newOf(written(members, before), before)).toBe(0);
  const one = { name: 'one', text: 'one more' };
  const sizes: number[] = [];
  for (const at of [0, 1, 7_000, 12_345, 19_999]) {
    const others: Member[][] = [
      members.with(at, { ...members[at]!, text: 'another' }),
      members.toSpliced(at, 0, one),
      members.toSpliced(at, 1),
    ];
    for (const other of others) {
      const after = written(other, before);
      expect(textOf(after)).toBe(joined(other));
      sizes.push(newOf(after, before));
    }
  }
  expect(sizes.reduce((sum, size) => sum + size) / sizes.length).toBeLessThan(64 * 1024);
});

test('[DO8] a text says what it said, whatever is written after it with what it left', () => {
  const member = fc.record({
    name: fc.nat(400).map((at) => `1:${at}`),
    text: fc.constantFrom('a', 'é€', 'x'.repeat(3_000), 'y'.repeat(70_000), 'z'.repeat(200_000)),
  });
  const members = fc.uniqueArray(member, { selector: ({ name }) => name, maxLength: 60 });
  fc.assert(
    fc.property(fc.array(members, { minLength: 2, maxLength: 4 }), (texts) => {
      let last = NONE;
      const all = texts.map((text) => {
        last = written(text, last);
        return last;
      });
      expect(all.map(textOf)).toEqual(texts.map(joined));
    }),
    { numRuns: 50 },
  );
});

test('[DO8] what is kept of a text is as long as it is', () => {
  for (const count of [1, 100, 20_000]) {
    const { pieces } = written(membersOf(count));
    for (const { buffer, length } of pieces.values()) expect(buffer.byteLength).toBeLessThanOrEqual(2 * length);
  }
});
