import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../bench/case.ts';
import { RUN } from '../../bench/config.ts';
import { inQuiet } from '../../bench/quiet.ts';

/** Runs of which so much was stolen, one after the other; each has its place as p99. */
function runsWith(...stolen: (number | undefined)[]): () => Promise<Outcome> {
  let taken = 0;
  return async () => {
    const share = stolen[taken];
    taken += 1;
    return { values: { p99Ms: taken, ...(share !== undefined && { stolen: share }) }, problems: [] };
  };
}

const NOISY = RUN.stolenMax * 10;

describe('runs of a bench on a machine that others use', () => {
  it('keeps the first run in which next to nothing was stolen', async () => {
    const kept = await inQuiet(runsWith(RUN.stolenMax, 0));
    expect(kept).toMatchObject({ outcome: { values: { p99Ms: 1 } }, retaken: 0 });
  });

  it('takes one anew of which too much was stolen, also where the first was faster', async () => {
    const kept = await inQuiet(runsWith(NOISY, NOISY, 0));
    expect(kept).toMatchObject({ outcome: { values: { p99Ms: 3 } }, retaken: 2 });
  });

  it('keeps the one that lost least where all lost too much', async () => {
    const all = Array.from({ length: RUN.retakenMax + 1 }, (_, index) => NOISY + (index === 1 ? 0 : 1));
    const kept = await inQuiet(runsWith(...all, 0));
    expect(kept).toMatchObject({ outcome: { values: { p99Ms: 2 } }, retaken: RUN.retakenMax });
  });

  it('keeps what has no such figure, as a peer that failed', async () => {
    const kept = await inQuiet(runsWith(undefined, 0));
    expect(kept).toMatchObject({ outcome: { values: { p99Ms: 1 } }, retaken: 0 });
  });

  it('does not keep such a one for one that has figures', async () => {
    const kept = await inQuiet(runsWith(NOISY, undefined, NOISY, NOISY, NOISY));
    expect(kept).toMatchObject({ outcome: { values: { p99Ms: 1 } }, retaken: RUN.retakenMax });
  });
});
