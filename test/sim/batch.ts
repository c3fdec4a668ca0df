/** Many seeds in one process, summed up: what travels between the runner and its processes. */
import { MUTANTS, NONE } from './mutants.ts';
import type { Fault } from './nemesis.ts';
import { simulate, type Verdict } from './simulation.ts';

export interface Batch {
  readonly from: number;
  readonly seeds: number;
  /** A name of `MUTANTS`; null for the code as it is. */
  readonly mutant: string | null;
  readonly only: Fault | null;
}

export interface Tally {
  seeds: number;
  acked: number;
  reads: number;
  takeovers: number;
  events: number;
  virtualMs: number;
  failures: Pick<Verdict, 'seed' | 'violations'>[];
  /** One for each seed. */
  hashes: string[];
}

export function emptyTally(): Tally {
  return { seeds: 0, acked: 0, reads: 0, takeovers: 0, events: 0, virtualMs: 0, failures: [], hashes: [] };
}

export function add(sum: Tally, more: Tally): void {
  for (const key of ['seeds', 'acked', 'reads', 'takeovers', 'events', 'virtualMs'] as const) sum[key] += more[key];
  sum.failures.push(...more.failures);
  sum.hashes.push(...more.hashes);
}

export async function runBatch({ from, seeds, mutant, only }: Batch): Promise<Tally> {
  const sum = emptyTally();
  for (let seed = from; seed < from + seeds; seed += 1) {
    const verdict = await simulate({ seed, mutant: mutant === null ? NONE : MUTANTS[mutant]!, only });
    const { violations, hash } = verdict;
    const failures = violations.length > 0 ? [{ seed, violations }] : [];
    add(sum, { ...verdict, seeds: 1, failures, hashes: [hash] });
  }
  return sum;
}
