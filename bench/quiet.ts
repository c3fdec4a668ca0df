/** Runs while the machine has its cores to itself: a hypervisor that gives them to other guests shows in a p99 first. */
import type { Outcome } from './case.ts';
import { RUN } from './config.ts';

export interface Kept {
  readonly outcome: Outcome;
  /** How many runs were thrown away for it. */
  readonly retaken: number;
}

/**
 * Takes a run, and takes it anew as long as too much was stolen in its window, `RUN.retakenMax` times at most. Kept is the one that lost least, whatever
 * its other figures say: what is chosen by is not what is measured. A run without that figure, as of a peer that failed, is kept
 * where it is the first, and replaces none that has one.
 */
export async function inQuiet(take: () => Promise<Outcome>): Promise<Kept> {
  let outcome = await take();
  let retaken = 0;
  while (isLess(RUN.stolenMax, outcome.values.stolen) && retaken < RUN.retakenMax) {
    const another = await take();
    retaken += 1;
    if (isLess(another.values.stolen, outcome.values.stolen)) outcome = another;
  }
  return { outcome, retaken };
}

/** Whoever has no figure is neither more nor less than anybody. */
function isLess(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && one < other;
}
