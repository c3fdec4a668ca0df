import * as encoding from 'lib0/encoding';
import { expect, test } from 'vitest';
import { messageYjsSyncStep1, messageYjsSyncStep2, messageYjsUpdate } from 'y-protocols/sync';
import {
  awarenessClocks,
  awarenessFrame,
  decodeAwareness,
  decodeYjsFrame,
  encodeAwareness,
  syncStep1Frame,
  syncStep2Frame,
  updateFrame,
} from '../../src/protocol/yjs-frames.ts';

const SIZES = [0, 1, 127, 128, 16_383, 16_384, 2_097_151, 2_097_152, 5_000_000];

function byYjs(head: readonly number[], body: Uint8Array): Uint8Array {
  const encoder = encoding.createEncoder();
  for (const part of head) encoding.writeVarUint(encoder, part);
  encoding.writeVarUint8Array(encoder, body);
  return encoding.toUint8Array(encoder);
}

test.each(SIZES)('[YF1] frames are byte for byte those of y-protocols: %i bytes', (size) => {
  const body = Uint8Array.from({ length: size }, (_, index) => index % 251);
  const same = (ours: Uint8Array, theirs: Uint8Array) => expect(Buffer.compare(ours, theirs)).toBe(0);
  same(syncStep1Frame(body), byYjs([0, messageYjsSyncStep1], body));
  same(syncStep2Frame(body), byYjs([0, messageYjsSyncStep2], body));
  same(updateFrame(body), byYjs([0, messageYjsUpdate], body));
  same(awarenessFrame(body), byYjs([1], body));
  const { update } = decodeYjsFrame(updateFrame(body)) as { update: Uint8Array };
  same(update, body);
});

test('[YF2] of large documents sent in turn each has its own frame; the same bytes have the same one', () => {
  const [one, other] = [1, 2].map((byte) => new Uint8Array(100_000).fill(byte)) as [Uint8Array, Uint8Array];
  for (const body of [one, other, other, one])
    expect(Buffer.compare(syncStep2Frame(body), byYjs([0, messageYjsSyncStep2], body))).toBe(0);
  expect(syncStep2Frame(one)).toBe(syncStep2Frame(one));
});

test('[AW16] of a message that tells of as many as one may, all clocks are read; of one more, none', () => {
  const states = (count: number) => Array.from({ length: count }, (_, clientId) => ({ clientId, clock: 1, state: null }));
  const most = encodeAwareness(states(10_000));
  expect(awarenessClocks(most)).toEqual(states(10_000).map(({ clientId, clock }) => ({ clientId, clock })));
  expect(decodeAwareness(most)).toHaveLength(10_000);
  const more = encodeAwareness(states(10_001));
  expect(awarenessClocks(more)).toEqual([]);
  expect(() => decodeAwareness(more)).toThrow('more than 10000');
});
