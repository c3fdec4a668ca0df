/** Virtual time, and processes in it that are paused, stand still with their machine, and die. */
import { expect, test } from 'vitest';
import { Process, World } from './world.ts';

function aWorld() {
  const world = new World({ seed: 1 });
  const heard: string[] = [];
  const say = (what: string) => (): void => void heard.push(what);
  return { world, process: new Process(world, 'p'), heard, say };
}

test('[SM6] events run in order of time, then of their making, and each ends with all that it set off', async () => {
  const { world, heard, say } = aWorld();
  world.after(2, say('late'));
  world.after(1, () => void Promise.resolve().then(say('set off')).then(say('and on')));
  world.after(1, say('second'));
  await world.run(5);
  expect(heard).toEqual(['set off', 'and on', 'second', 'late']);
  expect(world.elapsedMs).toBe(5);
});

test('[SM6] a paused process runs nothing, and all that came due when it goes on; its clock has gone on', async () => {
  const { world, process, heard, say } = aWorld();
  const startMs = process.clock.monotonicMs();
  process.clock.after(1, say('timer'));
  process.input(2, say('input'));
  process.pause();
  await world.run(10);
  expect(heard).toEqual([]);
  process.resume();
  await world.run(0);
  expect(heard.sort()).toEqual(['input', 'timer']);
  expect(process.clock.monotonicMs() - startMs).toBe(10);
});

test('[SM6] a process whose machine stood still has lost that time, and its timers have not come nearer', async () => {
  const { world, process, heard, say } = aWorld();
  const startMs = process.clock.monotonicMs();
  process.clock.after(3, say('timer'));
  process.pause();
  await world.run(10);
  process.resume({ stoodStillMs: 10 });
  await world.run(2);
  expect(heard).toEqual([]);
  expect(process.clock.monotonicMs() - startMs).toBe(2);
  await world.run(1);
  expect(heard).toEqual(['timer']);
});

test('[SM6] nothing runs in a dead process, and what it was asked is never answered', async () => {
  const { world, process, heard, say } = aWorld();
  process.clock.after(1, say('timer'));
  process.clock.every(1, say('tick'));
  void process.enter(say('entered')).then(say('answered'));
  process.kill();
  void process.enter(say('too late')).then(say('answered too late'));
  await world.run(10);
  expect(heard).toEqual(['entered', 'answered']);
});
