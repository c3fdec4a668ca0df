import { expect, test } from 'vitest';
import { Slices } from '../../src/base/slices.ts';

/** An event loop whose turns end when told, and steps that take so many milliseconds each; `done` names them in the order in which they ran. */
function aLoop() {
  let nowMs = 0;
  const soon: (() => void)[] = [];
  const slices = new Slices({ monotonicMs: () => nowMs, soon: (task) => soon.push(task) });
  const done: string[] = [];
  const bring = (name: string, { tookMs, steps = 1 }: { tookMs: number; steps?: number }): void =>
    slices.next(() => {
      done.push(name);
      nowMs += tookMs;
      if (steps > 1) bring(name, { tookMs, steps: steps - 1 });
    });
  const turn = ({ othersMs = 0 } = {}): string => {
    nowMs += othersMs;
    for (const task of soon.splice(0)) task();
    return taken();
  };
  const taken = (): string => done.splice(0).join('');
  const fail = (): void =>
    slices.next(() => {
      throw new Error('broken');
    });
  return { bring, fail, turn, taken };
}

test('[TR48] what is long has a quarter of a millisecond at the end of each turn; those who have some take turns', () => {
  const { bring, turn, taken } = aLoop();
  bring('a', { tookMs: 0.125, steps: 4 });
  bring('b', { tookMs: 0.125, steps: 3 });
  expect(taken()).toBe('');
  expect(turn()).toBe('ab');
  expect(turn()).toBe('ab');
  expect(turn()).toBe('ab');
  expect(turn()).toBe('a');
  expect(turn()).toBe('');
  bring('c', { tookMs: 5 });
  bring('d', { tookMs: 5 });
  expect(turn()).toBe('c');
  expect(turn()).toBe('d');
});

test('[TR48] where turns are long it has half of the time; one that is long alone is not made longer', () => {
  const { bring, turn } = aLoop();
  bring('a', { tookMs: 1, steps: 50 });
  expect(turn()).toBe('a');
  expect(turn({ othersMs: 10 })).toBe('a');
  expect(turn()).toBe('a');
  expect(turn({ othersMs: 10 })).toBe('a');
  expect(turn({ othersMs: 10 })).toBe('a'.repeat(10));
  expect(turn({ othersMs: 4 })).toBe('aaaa');
  expect(turn()).toBe('a');
});

test('[TR48] after a rest nothing of the turns before it is left', () => {
  const { bring, turn } = aLoop();
  bring('a', { tookMs: 1, steps: 3 });
  turn();
  turn({ othersMs: 10 });
  expect(turn({ othersMs: 10 })).toBe('a');
  bring('b', { tookMs: 1, steps: 9 });
  expect(turn({ othersMs: 10 })).toBe('b');
  expect(turn({ othersMs: 10 })).toBe('b');
});

test('[TR48] a step that throws costs those behind it nothing', () => {
  const { bring, fail, turn } = aLoop();
  bring('a', { tookMs: 0 });
  fail();
  bring('b', { tookMs: 0 });
  expect(() => turn()).toThrow('broken');
  expect(turn()).toBe('ab');
  bring('c', { tookMs: 0 });
  expect(turn()).toBe('c');
});
