import { expect, test } from 'vitest';
import { Rounds } from '../../src/base/rounds.ts';
import { manualClock } from '../support/manual-clock.ts';

function aRound(names: readonly string[], onVisit: (name: string, entries: Map<string, number>) => void = () => undefined) {
  const clock = manualClock();
  const entries = new Map(names.map((name, index) => [name, index]));
  const seen: string[] = [];
  let begun = 0;
  const rounds = new Rounds({
    clock,
    entries,
    everyMs: 1_000,
    begin: () => {
      begun += 1;
    },
    visit: (name) => {
      seen.push(name);
      onVisit(name, entries);
    },
  });
  return { clock, entries, seen, rounds, begun: () => begun };
}

const named = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);

test('[DO3] each entry is looked at once in a round; many of them a slice at a time, few at once', () => {
  const few = aRound(named(50));
  few.clock.advance(1_000);
  expect(few.seen).toEqual(named(50));
  const names = named(2_010);
  const { clock, seen, begun } = aRound(names);
  clock.advance(1_000);
  expect(seen).toEqual(names.slice(0, 101));
  clock.advance(50);
  expect(seen).toEqual(names.slice(0, 202));
  clock.advance(900);
  expect([seen.length, begun()]).toEqual([2_010, 1]);
  clock.advance(1_000);
  expect([seen.length, begun()]).toEqual([4_020, 2]);
  expect(seen.slice(2_010)).toEqual(names);
});

test('[DO3] what is gone is not looked at, and what comes is looked at before the round ends', () => {
  const odd = named(120).filter((_, index) => index % 2 === 1);
  const { clock, entries, seen, rounds } = aRound(named(120), (name, all) => {
    if (name === 'n0') for (let index = 2; index < 120; index += 2) all.delete(`n${index}`);
  });
  clock.advance(1_000);
  entries.set('late', 0);
  clock.advance(999);
  expect(seen).toEqual(['n0', ...odd, 'late']);
  const { length } = seen;
  rounds.stop();
  clock.advance(5_000);
  expect(seen).toHaveLength(length);
});

test('[DO3] so are many that come', () => {
  const { clock, entries, seen } = aRound(named(120));
  clock.advance(1_000);
  for (const name of named(1_000)) entries.set(name, 0);
  clock.advance(999);
  expect(seen).toEqual(named(1_000));
});

test('[DO3] who is looked at may end it', () => {
  const { clock, seen, rounds } = aRound(named(200), () => rounds.stop());
  clock.advance(10_000);
  expect(seen).toEqual(named(50));
});
