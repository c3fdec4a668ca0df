import type { WebSocket } from 'uWebSockets.js';
import { expect, test } from 'vitest';
import { UwsWire } from '../../src/adapters/uws-wire.ts';
import { systemClock } from '../../src/base/clock.ts';

const KIB = 1024;

/** A socket of which the system takes at once so many bytes in all. */
function aWire({ takesBytes }: { takesBytes: number }) {
  const sent: string[] = [];
  let buffered = 0;
  let taken = 0;
  const send = (data: Uint8Array | string): number => {
    const text = Buffer.from(data as Uint8Array).toString();
    sent.push(text);
    taken += text.length;
    buffered = Math.max(0, taken - takesBytes);
    return buffered === 0 ? 1 : 0;
  };
  const ws = { getBufferedAmount: () => buffered, send, sendFirstFragment: send, sendFragment: send, sendLastFragment: send };
  const wire = new UwsWire(ws as unknown as WebSocket<object>, { bytesMax: 64 * KIB * KIB, drain: () => undefined });
  /** The letters of what was sent, in order. */
  const letters = (): string => sent.map((text) => text[0]).join('');
  const bytes = (): number => sent.reduce((sum, text) => sum + text.length, 0);
  return { wire, letters, bytes };
}

const frame = (letter: string, kib: number): Uint8Array => Buffer.alloc(kib * KIB, letter);
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await new Promise<void>((resolve) => systemClock.soon(resolve));
};

test('[TR49] a long frame waits for its turns, and what comes behind it stays there up to half a MiB', async () => {
  const { wire, letters } = aWire({ takesBytes: Number.POSITIVE_INFINITY });
  wire.send(frame('a', 1_000));
  wire.send(frame('b', 500));
  wire.send(frame('c', 0.5));
  expect(letters()).toBe('');
  await turns(50);
  expect(letters()).toBe('aaaaaaaabbbbc');
});

test('[TR49] with more behind it, it leaves at once, so that turns make no slow reader, and all keeps its order', async () => {
  const { wire, letters, bytes } = aWire({ takesBytes: Number.POSITIVE_INFINITY });
  for (const letter of ['a', 'b', 'c', 'd', 'e', 'f']) {
    wire.send(frame(letter, 1_000));
    expect(wire.bufferedBytes()).toBeLessThanOrEqual(1_000 * KIB);
  }
  expect(letters()).toBe('a'.repeat(8) + 'b'.repeat(8) + 'c'.repeat(8) + 'd'.repeat(8) + 'e'.repeat(8));
  await turns(50);
  expect([bytes(), wire.bufferedBytes()]).toEqual([6_000 * KIB, 0]);
});

test('[TR49] a reader of whom the system takes no more is slow, as it was', async () => {
  const { wire, letters } = aWire({ takesBytes: 100 * KIB });
  for (const letter of ['a', 'b', 'c']) wire.send(frame(letter, 1_000));
  await turns(50);
  expect(letters()).toBe('a');
  expect(wire.bufferedBytes()).toBe((3_000 - 100) * KIB);
});
