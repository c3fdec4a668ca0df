import { expect, test } from 'vitest';
import { Passes } from '../../src/base/passes.ts';
import { manualClock } from '../support/manual-clock.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function somePasses(betweenMs = 0) {
  const clock = manualClock();
  const ends: (() => void)[] = [];
  let begun = 0;
  const passes = new Passes({
    clock,
    everyMs: 1_000,
    betweenMs,
    pass: () => {
      begun += 1;
      return new Promise<void>((resolve) => ends.push(resolve));
    },
  });
  const endPass = async (): Promise<void> => {
    ends.shift()!();
    await turn();
  };
  return { clock, passes, endPass, begun: () => begun };
}

test('[OB13] who asks during a pass is heard once after it, and the clock asks for what nobody tells of', async () => {
  const { clock, passes, endPass, begun } = somePasses();
  passes.again(); // nothing is under way: whoever makes something due nudges
  expect(begun()).toBe(0);
  passes.start();
  passes.nudge();
  passes.again();
  expect(begun()).toBe(1);
  await endPass();
  expect(begun()).toBe(2);
  await endPass();
  await passes.idle();
  expect(begun()).toBe(2);
  clock.advance(1_000);
  expect(begun()).toBe(3);
  await endPass();
  await passes.close();
});

test('[OB13] what comes so long after a pass goes together', async () => {
  const { clock, passes, endPass, begun } = somePasses(50);
  passes.start();
  passes.nudge();
  await endPass();
  clock.advance(49);
  passes.nudge();
  expect(begun()).toBe(1);
  clock.advance(1);
  await turn();
  expect(begun()).toBe(2);
  await endPass();
  await passes.close();
});

test('[OB13] the end waits for the pass under way, and none begins after it', async () => {
  const { clock, passes, endPass, begun } = somePasses();
  passes.start();
  passes.nudge();
  let isOver = false;
  const over = passes.close().then(() => {
    isOver = true;
  });
  await turn();
  expect([isOver, passes.isClosed]).toEqual([false, true]);
  await endPass();
  await over;
  passes.nudge();
  clock.advance(5_000);
  expect(begun()).toBe(1);
});
