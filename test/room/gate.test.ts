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
