import { expect, test } from 'vitest';
import { CommitDelay } from '../../../src/kernel/persistence/commit-delay.ts';
import { Gathered } from '../../../src/kernel/persistence/gathered.ts';
import { manualClock } from '../../support/manual-clock.ts';

function aDelay() {
  const clock = manualClock();
  let begun = 0;
  const delay = new CommitDelay({ clock, begin: () => (begun += 1) });
  return { clock, delay, begun: () => begun };
}

test('[CD1] the next commit waits until as many have come as were answered, or until the moment is over', () => {
  const { clock, delay, begun } = aDelay();
  expect(delay.isOn).toBe(false);
  delay.answered(2, 1);
  expect(delay.isOn).toBe(true);
  delay.came();
  expect(delay.isOn).toBe(true);
  delay.came();
  expect(delay.isOn).toBe(false);
  clock.advance(10);
  expect(begun()).toBe(0); // who came has begun it
  delay.answered(2, 1);
  clock.advance(1);
  expect(begun()).toBe(0);
  clock.advance(1);
  expect(begun()).toBe(1);
  expect(delay.isOn).toBe(false);
});

test.each([
  [1, 0, false],
  [1, 1, true],
  [2, 0, true],
  [1, 2, false],
  [9, 10, false],
  [10, 10, true],
  [0, 0, false],
])('[CD2] after %i were answered while %i wait, the next commit waits: %s', (answered, waiting, isOn) => {
  const { delay } = aDelay();
  delay.answered(answered, waiting);
  expect(delay.isOn).toBe(isOn);
});

test('[CD3] waiting in vain costs fewer and fewer commits a moment, until it is worth it again', () => {
  const { clock, delay } = aDelay();
  const without = (): number => {
    for (let commits = 0; ; commits += 1) {
      delay.answered(2, 0);
      if (delay.isOn) return commits;
    }
  };
  const inVain: number[] = [];
  for (let time = 0; time < 11; time += 1) {
    inVain.push(without());
    clock.advance(2);
  }
  expect(inVain).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 256]);
  expect(without()).toBe(256);
  delay.came();
  delay.came();
  expect(without()).toBe(0);
  clock.advance(2);
  expect(without()).toBe(1);
});

test('[CD4] ten who ask again as soon as they are answered share every batch, and are served all when one of them stays away', async () => {
  const clock = manualClock();
  const sizes: number[] = [];
  const work = async (items: readonly number[]): Promise<number[]> => {
    sizes.push(items.length);
    await settled();
    return [...items];
  };
  const gathered = new Gathered<number, number>({
    itemsMax: 200,
    waitingMax: 1_000,
    delay: (begin) => new CommitDelay({ clock, begin }),
    work,
  });
  let turns = 0;
  const asker = async (last: number): Promise<void> => {
    for (let turn = 0; turn < last; turn += 1) {
      await gathered.ask(1);
      turns += 1;
      await settled(); // on its way
    }
  };
  const asking = Promise.all(Array.from({ length: 10 }, (_, index) => asker(index === 0 ? 10 : 20)));
  for (let turn = 0; turn < 2_000 && turns < 190; turn += 1) {
    await settled();
    if (turn % 20 === 19) clock.advance(2);
  }
  await asking;
  expect(sizes.slice(0, 10)).toEqual([1, 9, ...Array.from({ length: 8 }, () => 10)]);
  expect(sizes.slice(10).reduce((sum, size) => sum + size, 0)).toBe(100);
  expect(turns).toBe(190);
});

/** Everything that is ready to run has run, some promises deep. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}
