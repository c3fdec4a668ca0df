import { expect, test } from 'vitest';
import { Background, half, type Pace, twentieth } from '../../src/base/background.ts';
import { manualClock } from '../support/manual-clock.ts';

/** Tasks that take so many milliseconds each, on a clock that passes them; says when each began. */
function aWorker(pace: Pace = twentieth) {
  const clock = manualClock(0);
  let spentMs = 0;
  const background = new Background({ ...clock, monotonicMs: () => clock.monotonicMs() + spentMs }, pace);
  const begun: number[] = [];
  const bring = (tookMs: number): void =>
    background.next(() => {
      begun.push(clock.monotonicMs());
      spentMs += tookMs;
    });
  return { clock, background, begun, bring };
}

test('[DO1] what nobody waits for is done at once where nothing else was, then room by room, in a twentieth of the time', () => {
  const { clock, begun, bring } = aWorker();
  for (let room = 0; room < 4; room += 1) bring(2);
  expect(begun).toEqual([0]);
  clock.advance(39);
  expect(begun).toHaveLength(1);
  clock.advance(1);
  expect(begun).toEqual([0, 40]);
  clock.advance(2 * 40);
  expect(begun).toEqual([0, 40, 80, 120]);
  bring(2);
  expect(begun).toHaveLength(4); // it rests also when nothing waits
  clock.advance(40);
  bring(2);
  clock.advance(1_000);
  expect(begun).toEqual([0, 40, 80, 120, 160, 200]);
});

test('[DO1] rooms that take little share a slice', () => {
  const { clock, begun, bring } = aWorker();
  for (let room = 0; room < 7; room += 1) bring(1 / 16);
  clock.advance(1);
  expect(begun).toHaveLength(1);
  clock.advance(1);
  expect(begun).toEqual([0, ...new Array(4).fill(1.25)]);
  clock.advance(1_000);
  expect(begun).toHaveLength(7);
});

test('[DO5] what somebody waits for has a quarter of a millisecond, then a rest that is as long or longer', () => {
  const { clock, begun, bring } = aWorker(half);
  for (let room = 0; room < 5; room += 1) bring(0.25);
  clock.advance(10);
  expect(begun).toEqual([0, 1.25, 2.5, 3.75, 5]);
  bring(3);
  bring(0.25);
  clock.advance(10);
  expect(begun.slice(5)).toEqual([10, 16]);
});

test('[DO1] what a task brings waits for its turn', () => {
  const clock = manualClock();
  const background = new Background(clock, twentieth);
  const done: string[] = [];
  background.next(() => {
    background.next(() => done.push('inner'));
    done.push('outer');
  });
  clock.advance(1);
  expect(done).toEqual(['outer', 'inner']);
});

test('[DO1] one that throws takes nobody else along', () => {
  const clock = manualClock();
  const background = new Background(clock, twentieth);
  const done: string[] = [];
  expect(() =>
    background.next(() => {
      background.next(() => done.push('next'));
      throw new Error('broken');
    }),
  ).toThrow('broken');
  clock.advance(1);
  expect(done).toEqual(['next']);
});

test('[DO1] when it is stopped what waits is forgotten', () => {
  const { clock, background, begun, bring } = aWorker();
  bring(1);
  bring(1);
  background.stop();
  clock.advance(1_000);
  expect(begun).toHaveLength(1);
});

test('a pace that asks for no rest when nothing is left gets the least there is', () => {
  const clock = manualClock();
  const background = new Background(clock, () => 0);
  const done: number[] = [];
  background.next(() => done.push(clock.monotonicMs()));
  background.next(() => done.push(clock.monotonicMs()));
  clock.advance(1);
  expect(done.map((ms) => ms - done[0]!)).toEqual([0, 1]);
});
