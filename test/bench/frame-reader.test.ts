import { expect, test } from 'vitest';
import { FrameReader } from '../../bench/load/frame-reader.ts';

/** What a server sends: unmasked. */
function frame(first: number, payload: string): Buffer {
  const body = Buffer.from(payload);
  const head =
    body.length < 126
      ? [body.length]
      : body.length < 65_536
        ? [126, body.length >> 8, body.length & 255]
        : [127, ...bigEndian(body.length)];
  return Buffer.concat([Buffer.from([first, ...head]), body]);
}

function bigEndian(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

function heardIn(bytes: Buffer, pieceBytes: number): string[] {
  const heard: string[] = [];
  const reader = new FrameReader({
    message: (payload) => void heard.push(String(payload)),
    control: (opcode, payload) => void heard.push(`${opcode} ${payload}`),
  });
  const memory = Buffer.alloc(pieceBytes); // read into again and again, as of a socket
  for (let at = 0; at < bytes.length; at += pieceBytes)
    reader.read(memory.subarray(0, bytes.copy(memory, 0, at, at + pieceBytes)));
  return heard;
}

const SAID = Buffer.concat([
  frame(0x81, 'short'),
  frame(0x82, ''),
  frame(0x82, 'x'.repeat(125)),
  frame(0x02, 'in '), // a message in three pieces, with a ping in between
  frame(0x89, 'are you there'),
  frame(0x00, 'three '),
  frame(0x80, 'pieces'),
  frame(0x82, 'y'.repeat(300)),
  frame(0x82, 'z'.repeat(70_000)),
  frame(0x88, '\x03\xe8'),
]);

test.each([1, 2, 3, 7, 64, 1_000, 100_000])('[LO5] frames are read in pieces of %i bytes', (pieceBytes) => {
  expect(heardIn(SAID, pieceBytes)).toEqual([
    'short',
    '',
    'x'.repeat(125),
    '9 are you there',
    'in three pieces',
    'y'.repeat(300),
    'z'.repeat(70_000),
    expect.stringMatching(/^8 /),
  ]);
});

test.each([
  ['a mask', Buffer.from([0x81, 0x80, 0, 0, 0, 0]), 'masked'],
  ['an extension', frame(0xc1, 'x'), 'extension'],
  ['a continuation of nothing', frame(0x80, 'x'), 'out of place'],
  ['a message within another', Buffer.concat([frame(0x01, 'x'), frame(0x81, 'y')]), 'out of place'],
  ['a beginning within another', Buffer.concat([frame(0x01, ''), frame(0x01, 'y')]), 'out of place'],
  ['a ping in pieces', frame(0x09, 'x'), 'control'],
  ['a long ping', frame(0x89, 'x'.repeat(126)), 'control'],
])('[LO7] a server that sends %s breaks the rules', (_, bytes, error) => {
  expect(() => heardIn(bytes, 1_000)).toThrow(error);
});
