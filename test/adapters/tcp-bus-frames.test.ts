import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { type Frame, FrameBatch, FrameReader, packFrame, unpackFrame } from '../../src/adapters/tcp-bus-frames.ts';
import { Dice } from '../fuzz/dice.ts';

const crossed = (payload: unknown): unknown => {
  const frame = unpackFrame(packFrame({ type: 'tell', message: { kind: 'test', payload } }).slice());
  return frame.type === 'tell' ? frame.message.payload : frame;
};

const nested = (depth: number): unknown => {
  let value: unknown = 'deep';
  for (let level = 0; level < depth; level += 1) value = level % 2 === 0 ? [value] : { in: value };
  return value;
};

test.each<[string, unknown]>([
  ['numbers', [0, -1, 1.5, -0.25, 2 ** 31, 2 ** 53 - 1, -(2 ** 53 - 1), 1e300, 5e-324]],
  ['text', ['', 'é', '𝕏', '\u0000', 'x'.repeat(70_000)]],
  ['nothing', [null, {}, [], { a: null }]],
  ['bytes', { some: new Uint8Array([0, 1, 255]), none: new Uint8Array() }],
  ['300 levels', nested(300)],
  ['keys that would reach a prototype', JSON.parse('{"a":[{"__proto__":{"__proto__":[1],"b":2},"constructor":3}]}')],
])('[BU13] plain data arrives as it was sent: %s', (_, value) => {
  const arrived = crossed(value);
  expect(arrived).toEqual(value);
  expect(JSON.stringify(arrived)).toBe(JSON.stringify(value));
});

test('[BU13] bytes stay bytes, also those of a Buffer or of a part', () => {
  const whole = new Uint8Array([9, 1, 2, 3, 9]);
  const arrived = crossed([whole.subarray(1, 4), Buffer.from([4])]) as Uint8Array[];
  expect(arrived.map((bytes) => bytes.constructor)).toEqual([Uint8Array, Uint8Array]);
  expect(arrived).toEqual([new Uint8Array([1, 2, 3]), new Uint8Array([4])]);
});

test('[BU13] what is undefined is left out, and nothing stays nothing', () => {
  expect(crossed({ a: undefined, b: { c: undefined, d: 1 } })).toStrictEqual({ b: { d: 1 } });
  expect(crossed(JSON.parse('{"__proto__":1}'))).toStrictEqual(JSON.parse('{"__proto__":1}'));
  expect(crossed(undefined)).toBeUndefined();
  const answer = unpackFrame(packFrame({ type: 'answer', id: 1, value: undefined }));
  expect(answer).toStrictEqual({ type: 'answer', id: 1, value: undefined });
});

test.each([
  ['a function', () => 1],
  ['a bigint', 1n],
  ['a symbol', Symbol('x')],
  ['a circle', circle()],
  ['400 levels', nested(400)],
])('[BU13] what is not plain data is refused when it is packed: %s', (_, value) => {
  expect(() => crossed({ value })).toThrow();
  expect(crossed('and the next is packed')).toBe('and the next is packed');
});

function circle(): unknown {
  const value: Record<string, unknown> = {};
  value.self = value;
  return value;
}

test.each<[string, number[]]>([
  ['nothing', []],
  ['no list', [0x81, 0xa1, 0x61, 0x01]],
  ['an unknown type', [0x91, 0x63]],
  ['a type that is no number', [0x91, 0xa1, 0x33]],
  ['a tell without a kind', [0x92, 0x03, 0x01]],
  ['an ask without a number', [0x93, 0x04, 0xa1, 0x61, 0xa1, 0x61]],
  ['a refusal without facts', [0x93, 0x06, 0x01, 0xa1, 0x61]],
  ['two values', [0x91, 0x00, 0x91, 0x00]],
  ['half a value', [0x92, 0x03]],
  ['a list longer than its bytes', [0xdd, 0xff, 0xff, 0xff, 0xff]],
])('[BU14] what is no frame is refused: %s', (_, bytes) => {
  expect(() => unpackFrame(Uint8Array.from(bytes))).toThrow();
});

/** A frame of a random type, small or large. */
function aFrame(dice: Dice, id: number): Frame {
  const size = dice.weighted({ 0: 1, 20: 10, 300: 5, 20000: 1, 70000: 1 });
  const payload = new Uint8Array(dice.below(Number(size) + 1)).fill(id);
  return dice.pick<Frame>([
    { type: 'ping' },
    { type: 'tell', message: { kind: 'k'.repeat(dice.below(40)), payload } },
    { type: 'ask', id, message: { kind: 'a', payload: { payload, id } } },
    { type: 'answer', id, value: [payload] },
    { type: 'refusal', id, code: 'ROOM_NOT_FOUND', facts: { roomId: `${id}` } },
  ]);
}

test('[BU14] frames arrive whole and in order however their bytes are cut, with whatever is written together (1,000 seeds)', () => {
  for (let seed = 1; seed <= 1_000; seed += 1) {
    const dice = new Dice(seed);
    const frames = Array.from({ length: 1 + dice.below(12) }, (_, index) => aFrame(dice, index));
    const batch = new FrameBatch();
    const pieces: Uint8Array[] = [];
    let bytes = 0;
    for (const frame of frames) {
      const before = batch.bytes;
      batch.add(packFrame(frame));
      bytes += batch.bytes - before;
      if (dice.chance(0.3)) pieces.push(...batch.take());
    }
    pieces.push(...batch.take());
    const stream = Buffer.concat(pieces);
    expect(stream.length).toBe(bytes);

    const reader = new FrameReader({ frameBytesMax: 1_000_000 });
    const arrived: Frame[] = [];
    for (let at = 0; at < stream.length; ) {
      const size = 1 + dice.below(dice.pick([1, 4, 5, 100, 70_000]));
      reader.push(stream.subarray(at, at + size));
      at += size;
      if (at < stream.length && dice.chance(0.3)) continue; // several pieces before anybody reads
      for (let body = reader.next(); body !== null; body = reader.next()) arrived.push(unpackFrame(body as Uint8Array));
    }
    expect(isDeepStrictEqual(arrived, frames), `seed ${seed}`).toBe(true); // expect's own comparison walks bytes one by one
  }
});

test('[BU14] small frames of one turn are one piece, and what a handler keeps of one does not hold the others', () => {
  const batch = new FrameBatch();
  for (let n = 0; n < 100; n += 1) batch.add(packFrame({ type: 'answer', id: n, value: new Uint8Array(10) }));
  const pieces = batch.take();
  expect(pieces).toHaveLength(1);
  const reader = new FrameReader({ frameBytesMax: 100 });
  reader.push(pieces[0]!);
  const frame = unpackFrame(reader.next() as Uint8Array);
  expect((frame as { value: Uint8Array }).value.buffer.byteLength).toBeLessThan(20);
});

test('[BU14] a frame of exactly the limit is read, one byte more is not, whatever comes of it', () => {
  const body = packFrame({ type: 'answer', id: 1, value: new Uint8Array(50) }).slice();
  const batch = new FrameBatch();
  batch.add(body);
  const [piece] = batch.take();
  for (const [frameBytesMax, expected] of [
    [body.length, body],
    [body.length - 1, 'too large'],
  ] as const) {
    const reader = new FrameReader({ frameBytesMax });
    reader.push(piece!.slice(0, 4));
    expect(reader.next()).toBe(expected === 'too large' ? expected : null);
    reader.push(piece!.slice(4));
    expect(reader.next()).toEqual(expected);
  }
});
