import { expect, test } from 'vitest';
import { Background, twentieth } from '../../src/base/background.ts';
import { Upkeep } from '../../src/room/upkeep.ts';
import { manualClock } from '../support/manual-clock.ts';

/** Rooms of one worker that are due whenever they are asked, and say when they had their turn. */
function rooms(count: number) {
  const clock = manualClock();
  const background = new Background(clock, twentieth);
  const done: number[] = [];
  const able = { is: true };
  const upkeeps = Array.from({ length: count }, (_, number) => {
    const keeper = { isDue: () => true, tick: () => void done.push(number) };
    const ifAble = (task: () => void): void => void (able.is && task());
    return new Upkeep({ clock, background }, { ifAble }, [{ isDue: () => false, tick: () => undefined }, keeper]);
  });
  const tick = (): void => {
    for (const upkeep of upkeeps) upkeep.tick(clock.monotonicMs());
  };
  return { clock, upkeeps, done, able, tick };
}

test('[DO2] rooms that are due in one moment have their turns, each once', () => {
  const { clock, done, tick } = rooms(4);
  tick();
  tick(); // the first again, the others wait already
  expect(done).toEqual([0]);
  clock.advance(1_000);
  expect(done).toEqual([0, 1, 2, 3, 0]);
});

test('[DO2] a room that may not write in its turn has another', () => {
  const { clock, done, able, tick } = rooms(2);
  tick();
  able.is = false;
  clock.advance(1);
  expect(done).toEqual([0]);
  able.is = true;
  clock.advance(1);
  tick();
  clock.advance(1);
  expect(done).toEqual([0, 0, 1]);
});

test('[DO2] what must not wait does not', () => {
  const { done, upkeeps, tick } = rooms(2);
  tick();
  upkeeps[1]!.now();
  expect(done).toEqual([0, 1]);
});
