import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import type { Target } from '../../bench/case.ts';
import { fullWorker } from '../../bench/load/full-worker.ts';
import { asking, limits } from '../../bench/load/limits.ts';
import { verdictOn } from '../../bench/verdict.ts';

const PACED = [
  'a room that is full',
  'frames that are too long',
  'Yjs updates that build on what never comes',
  'bodies that are too long',
  'requests beyond the bounds of JSON, patches and queries',
];

function holdsAt(target: Target, refusedPerSecond: number): boolean | null {
  const run = { round: 1, variant: target.variant, server: 'atrium', values: { refusedPerSecond }, problems: [] };
  return verdictOn('atrium', target, [run]).holds;
}

describe('what the bench of limits calls refused', () => {
  const refusals = [...limits.targets, ...fullWorker.targets].filter(({ metric }) => metric === 'refusedPerSecond');

  it.each([...PACED, 'sockets beyond all that it takes'])('misses where some of these get through: %s', (variant) => {
    const target = refusals.find((candidate) => candidate.variant === variant)!;
    expect(holdsAt(target, 10)).toBe(false);
    expect(holdsAt(target, 100)).toBe(true);
  });

  it('says so when the company was answered what it did not ask for', async () => {
    const company = asking(2, async () => {
      await sleep(1);
      return 500;
    });
    await sleep(5);
    expect(await company.stop()).toEqual(['the company was answered 500']);
    expect(company.refused()).toBe(0);
  });
});
