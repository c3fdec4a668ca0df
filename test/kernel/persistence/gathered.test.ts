import { expect, test } from 'vitest';
import { GatherTime } from '../../../src/kernel/persistence/gather-time.ts';
import { Gathered } from '../../../src/kernel/persistence/gathered.ts';
import { manualClock } from '../../support/manual-clock.ts';

/** Batches of four at most, gathered for 100 ms, that end when told. */
function gatheringFours() {
  const clock = manualClock();
  const batches: number[][] = [];
  let end: () => void = () => undefined;
  const gathered = new Gathered<number, number>({
    itemsMax: 4,
    waitingMax: 100,
    delay: (begin) => new GatherTime({ clock, ms: 100, begin }),
    async work(items) {
      batches.push([...items]);
      await new Promise<void>((resolve) => {
        end = resolve;
      });
      return items;
    },
  });
  const ask = (...items: number[]): void => {
    for (const item of items) void gathered.ask(item);
  };
  const endBatch = async (): Promise<void> => {
    end();
    await new Promise(setImmediate);
  };
  return { clock, batches, gathered, ask, endBatch };
}

test('[SN18] a batch begins a tenth of a second after its first item, or when it is full', () => {
  const { clock, batches, ask } = gatheringFours();
  ask(1);
  clock.advance(60);
  ask(2);
  clock.advance(39);
  expect(batches).toEqual([]);
  clock.advance(1);
  expect(batches).toEqual([[1, 2]]);
  const { batches: full, ask: askMany } = gatheringFours();
  askMany(1, 2, 3, 4);
  expect(full).toEqual([[1, 2, 3, 4]]);
});

test('[SN18] who comes while a batch is under way has a tenth of a second of its own', async () => {
  const { clock, batches, ask, endBatch } = gatheringFours();
  ask(1, 2, 3, 4);
  clock.advance(50);
  ask(5);
  clock.advance(90);
  await endBatch();
  expect(batches).toHaveLength(1);
  clock.advance(10);
  expect(batches).toEqual([[1, 2, 3, 4], [5]]);
});

test('[SN18] many that wait go batch by batch, whoever comes meanwhile', async () => {
  const { batches, ask, endBatch } = gatheringFours();
  ask(...Array.from({ length: 12 }, (_, index) => index));
  for (const meanwhile of [12, 13, 14]) {
    ask(meanwhile);
    await endBatch();
  }
  expect(batches.map(({ length }) => length)).toEqual([4, 4, 4]);
});

test('[SN18] whoever cannot wait begins after the batch that is under way, with those before it, whoever comes after', async () => {
  const { clock, batches, gathered, ask, endBatch } = gatheringFours();
  ask(1);
  gathered.hurry();
  ask(2, 3);
  gathered.hurry();
  ask(4);
  await endBatch();
  expect(batches).toEqual([[1], [2, 3, 4]]);
  ask(5);
  await endBatch();
  expect(batches).toHaveLength(2);
  clock.advance(100);
  expect(batches.at(-1)).toEqual([5]);
});
