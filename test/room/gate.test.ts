import { expect, test } from 'vitest';
import { AppError } from '../../src/base/errors.ts';
import { Gate, heldBy } from '../../src/room/gate.ts';

const waiting = (bytes: number, shared: object | null = null) => ({ bytes, shared, release: () => undefined });

test('[GA23] what several wait with is counted once, until the last of them is through', () => {
  const gate = new Gate(0);
  const text = ['a'];
  gate.pass(1, waiting(100, text));
  gate.pass(1, waiting(7));
  gate.pass(2, waiting(100, text));
  gate.pass(2, { ...waiting(100, ['b']), refuse: () => undefined });
  expect(gate.bytes).toBe(207);
  gate.open(1);
  expect(gate.bytes).toBe(200);
  gate.refuseAnswers(new AppError('OUTCOME_UNKNOWN'));
  expect(gate.bytes).toBe(100);
  gate.pass(3, waiting(5));
  gate.refuseAll(new AppError('ROOM_MOVED'));
  expect(gate.bytes).toBe(0);
});

test('[GA23] an answer holds its text, or the bytes that others may be answered, too', () => {
  const bytes = new Uint8Array(3);
  expect(heldBy('four')).toEqual({ bytes: 4, shared: null });
  expect(heldBy(bytes)).toEqual({ bytes: 3, shared: bytes });
  const pieces = [bytes, bytes];
  expect(heldBy(pieces)).toEqual({ bytes: 6, shared: pieces });
  expect(heldBy({ actor: 1, lines: pieces })).toEqual({ bytes: 6, shared: pieces });
  for (const small of [null, 1, { ops: [] }, [], [{ name: 'ann' }]]) expect(heldBy(small).bytes).toBe(0);
});

test('[GA15] where the release of one breaks, those behind it stay in order, and are refused with the room', () => {
  const gate = new Gate(0);
  const heard: string[] = [];
  const one = (name: string, bytes: number) => ({
    bytes,
    release: () => void heard.push(`${name} released`),
    refuse: () => void heard.push(`${name} refused`),
  });
  const broken = (): never => {
    throw new Error('broken');
  };
  gate.pass(1, one('a', 1));
  gate.pass(1, { ...one('b', 10), release: broken });
  gate.pass(1, one('c', 100));
  gate.pass(2, one('d', 1_000));
  expect(() => gate.open(1)).toThrow('broken');
  expect(gate.bytes).toBe(1_100);
  gate.refuseAll(new AppError('OUTCOME_UNKNOWN'));
  expect([heard, gate.bytes]).toEqual([['a released', 'c refused', 'd refused'], 0]);
});
