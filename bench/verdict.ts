/** Runs → medians, ratios, and whether a prediction held. Pure; the results page and the page of charts both ask here. */
import type { Case, Target } from './case.ts';
import { METRICS, type Metric, type Summary, summaryOf } from './metrics.ts';
import type { Run } from './record.ts';

export interface Verdict {
  /** As text, with what it is a multiple of. */
  readonly measured: string;
  readonly value: number | null;
  readonly wanted: string;
  readonly holds: boolean;
  /** The runs that it stands on. */
  readonly on: readonly Run[];
}

export function verdictOn({ servers }: Case, { variant, metric, against, limit }: Target, runs: readonly Run[]): Verdict {
  const own = servers[0]!.name;
  const mine = runsOf(runs, variant, own);
  const [unit, bound] = [against === null ? '' : '×', 'atMost' in limit ? limit.atMost : limit.atLeast];
  const theirs =
    against === null ? [] : typeof against === 'string' ? runsOf(runs, variant, against) : runsOf(runs, against.variant, own);
  const value = against === null ? (summaryIn(mine, metric)?.median ?? null) : ratio(metric, mine, theirs);
  const holds = value !== null && ('atMost' in limit ? value <= limit.atMost : value >= limit.atLeast);
  return {
    measured: measuredAs(value, { metric, against }),
    value,
    wanted: `${'atMost' in limit ? '≤' : '≥'} ${bound}${unit}`,
    holds,
    on: [...mine, ...theirs],
  };
}

function measuredAs(value: number | null, { metric, against }: Pick<Target, 'metric' | 'against'>): string {
  if (against !== null) return `${times(value)} ${typeof against === 'string' ? against : `“${against.variant}”`}`;
  return value === null ? '–' : value.toLocaleString('en', { maximumFractionDigits: METRICS[metric].digits });
}

export function runsOf(runs: readonly Run[], variant: string, server: string): Run[] {
  return runs.filter((run) => run.variant === variant && run.server === server);
}

export function summaryIn(runs: readonly Run[], metric: Metric): Summary | null {
  const values = runs.map(({ values }) => values[metric]).filter((value) => value !== undefined);
  return values.length === 0 ? null : summaryOf(values);
}

/** Null when one of them has no such value, or zero. */
export function ratio(metric: Metric, mine: readonly Run[], theirs: readonly Run[]): number | null {
  const [above, below] = [summaryIn(mine, metric)?.median, summaryIn(theirs, metric)?.median];
  return above === undefined || !below ? null : above / below;
}

export function times(ratio: number | null): string {
  return ratio === null ? '–' : `${ratio.toFixed(2)}×`;
}
