import { expect, test } from 'vitest';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import type { Sql } from '../../../src/kernel/persistence/sql.ts';
import { TimelineWatch } from '../../../src/kernel/persistence/timeline.ts';
import { manualClock } from '../../support/manual-clock.ts';

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** A database that says these things, one at each look; how often it was asked and how often it was found promoted. */
async function looksAt(answers: readonly (string | null | Error)[]): Promise<{ asked: number; promoted: number }> {
  const clock = manualClock();
  let asked = 0;
  let promoted = 0;
  const query = async (): Promise<unknown[]> => {
    const answer = answers[asked++]!;
    if (answer instanceof Error) throw answer;
    return [{ timeline: answer }];
  };
  const watch = new TimelineWatch({ db: { query } as unknown as Sql, clock, log: silentLog, onPromoted: () => (promoted += 1) });
  for (let look = 1; look < answers.length; look += 1) {
    await settled();
    clock.advance(2_000);
  }
  await watch.close();
  clock.advance(10_000);
  return { asked, promoted };
}

const AWAY = new AppError('DATABASE_UNAVAILABLE');

test('[TL2] only another timeline is a promotion, neither a database that is away nor a standby', async () => {
  expect(await looksAt(['00000001', '00000001', '00000002', '00000002', '00000003'])).toEqual({ asked: 5, promoted: 2 });
  expect(await looksAt([AWAY, '00000001', AWAY, null, new Error('odd'), '00000001'])).toEqual({ asked: 6, promoted: 0 });
  expect(await looksAt(['00000001', AWAY, null, '00000002'])).toEqual({ asked: 4, promoted: 1 });
});

test('[TL2] one that tells no timeline is not asked again', async () => {
  expect(await looksAt([new Error('not supported'), '00000001', '00000002'])).toEqual({ asked: 1, promoted: 0 });
});
