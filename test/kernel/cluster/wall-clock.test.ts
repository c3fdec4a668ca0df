import { expect, test } from 'vitest';
import { silentLog } from '../../../src/base/observe.ts';
import { WallClock } from '../../../src/kernel/cluster/wall-clock.ts';

function aWallClock() {
  const said: string[] = [];
  const say =
    (level: string) =>
    ({ aheadMs }: { aheadMs?: number }): void =>
      void said.push(aheadMs === undefined ? level : `${level} ${aheadMs}`);
  const wallClock = new WallClock({ ...silentLog, warn: say('off'), info: say('right') } as never);
  return { wallClock, said };
}

const at = (databaseMs: number, [askedMs, heardMs]: readonly [number, number]) => ({ databaseMs, askedMs, heardMs });

test('[WK7] a clock that is more than 10 s ahead of the database, or behind it, is told of once, and once when it is right again', () => {
  const { wallClock, said } = aWallClock();
  wallClock.compare(at(100_000, [110_000, 110_001]));
  wallClock.compare(at(100_000, [89_999, 90_000]));
  expect(said).toEqual([]);
  wallClock.compare(at(100_000, [700_000, 700_002]));
  wallClock.compare(at(101_000, [701_000, 701_002]));
  expect(said).toEqual(['off 600000']);
  wallClock.compare(at(102_000, [108_000, 108_001]));
  expect(said).toHaveLength(1);
  wallClock.compare(at(103_000, [107_000, 107_001]));
  expect(said).toEqual(['off 600000', 'right']);
  wallClock.compare(at(200_000, [80_000, 80_001]));
  expect(said.at(-1)).toBe('off -119999');
});

test('[WK7] an answer that took long makes no clock wrong', () => {
  const { wallClock, said } = aWallClock();
  wallClock.compare(at(100_000, [99_000, 160_000]));
  wallClock.compare(at(100_000, [40_000, 100_500]));
  expect(said).toEqual([]);
});
