import { decodeMulti } from '@msgpack/msgpack';
import { expect, test } from 'vitest';
import {
  asciiText,
  fromBase64,
  pack,
  packBytes,
  packText,
  packTextsAndNumber,
  toBase64,
  unpack,
  unpackAll,
} from '../../src/base/binary.ts';

test.each([
  ['', []],
  ['AA==', [0]],
  ['AAE=', [0, 1]],
  ['AAEC', [0, 1, 2]],
  ['+/+/', [251, 255, 191]],
])('[BN1] %j is base64', (text, bytes) => {
  expect([...fromBase64(text)!]).toEqual(bytes);
  expect(toBase64(Uint8Array.from(bytes))).toBe(text);
});

test.each([
  'A',
  'AA',
  'AAA',
  'AAAAA',
  '====',
  'A===',
  '=AAA',
  'AA=A',
  'AA==AAAA',
  '-_-_',
  'AA A',
  'AAA\n',
  ' AAA',
  'AAAä',
  'AA=='.repeat(2),
])('[BN1] %j is none', (text) => {
  expect(fromBase64(text)).toBeNull();
});

test('[BN1] nor does its length matter', () => {
  const bytes = new Uint8Array(75_000_000).fill(255); // as base64: the largest frame that FRAME_BYTES_MAX allows
  const text = toBase64(bytes);
  expect(fromBase64(text)?.length).toBe(bytes.length);
  expect(fromBase64(`${text.slice(0, -5)}*${text.slice(-4)}`)).toBeNull();
});

test.each(['', '{"a":1}', 'Ä 😀', 'x'.repeat(70_000)])('[BN2] a tag and a text written down directly read as a pair', (text) => {
  expect(unpack(packText(5, text))).toEqual([5, text]);
});

test.each([0, 127, 128, 255])(
  'texts and a number written down directly are read as what the encoder writes: %d characters',
  (length) => {
    const row = [5, 'k'.repeat(length), 'digest', 1_764_000_000_000, null] as const;
    const bytes = packTextsAndNumber(row[0], [row[1], row[2]], row[3]);
    expect(unpack(bytes)).toEqual(row);
    expect(unpack(bytes)).toEqual(unpack(pack(row)));
  },
);

test.each([0, 1, 255, 70_000])('bytes written down directly are read as what the encoder writes: %d of them', (length) => {
  const bytes = new Uint8Array(length).fill(200);
  const [tag, guid, read] = unpack(packBytes(3, bytes)) as [number, string, Uint8Array];
  expect([tag, guid, toBase64(read)]).toEqual([3, '', toBase64(bytes)]);
  expect(unpack(packBytes(3, bytes))).toEqual(unpack(pack([3, '', bytes])));
});

test('a text is read without a decoder where every byte is a character', () => {
  expect(asciiText(Buffer.from('{"a":"~\u0000"}'))).toBe('{"a":"~\u0000"}');
  expect(asciiText(new Uint8Array(Buffer.from('xay')).subarray(1, 2))).toBe('a');
  expect(asciiText(Buffer.from('ü'))).toBeNull();
  expect(asciiText(new Uint8Array())).toBe('');
});

const WRITTEN: readonly Uint8Array[] = [
  packText(1, '[{"type":3}]'),
  packText(127, 'Ä 😀'),
  packBytes(3, Uint8Array.of(1, 2, 3)),
  packBytes(3, new Uint8Array(0)),
  packTextsAndNumber(5, ['id', 'digest'], 1.5),
  pack([2]),
  pack([1, 'text', 'author']),
  pack([3, 'guid', Uint8Array.of(9)]),
  pack([200, 'x'.repeat(70_000)]),
  pack(['text']),
];

test('[BN3] values one after the other read as MessagePack reads them, whoever wrote them', () => {
  for (const first of WRITTEN)
    for (const second of WRITTEN) {
      const both = Buffer.concat([first, second]);
      expect(unpackAll(both)).toEqual([...decodeMulti(both)]);
    }
});

test('[BN3] what was cut off is an error', () => {
  for (const first of WRITTEN)
    for (const last of WRITTEN) {
      const both = Buffer.concat([first, last]);
      for (const kept of [1, 3, 6, 7, last.length - 1])
        if (kept < last.length) expect(() => unpackAll(both.subarray(0, first.length + kept))).toThrow();
    }
  expect(unpackAll(new Uint8Array(0))).toEqual([]);
});
