/** Runs → medians, ratios, and whether a prediction held. Pure; the results page and the page of charts both ask here. */
import type { Case, Target } from './case.ts';
import { METRICS, type Metric, type Summary, summaryOf } from './metrics.ts';
import type { Run } from './record.ts';

export interface Verdict {
  /** As text: so many times what it is compared with, or the value itself. */
  readonly measured: string;
  /** Null when there is nothing to judge by. */
  readonly holds: boolean | null;
  /** The runs that it stands on. */
  readonly on: readonly Run[];
}

/** What came of a prediction, for the server with the name `own`; nothing, when it is the one to be compared with. */
export function verdictOn(own: string, { variant, metric, against, limit }: Target, runs: readonly Run[]): Verdict {
  if (against === own) return { measured: times(null), holds: null, on: [] };
  const mine = runsOf(runs, variant, own);
  const theirs =
    against === null ? [] : typeof against === 'string' ? runsOf(runs, variant, against) : runsOf(runs, against.variant, own);
  const value = against === null ? (summaryIn(mine, metric)?.median ?? null) : ratio(metric, mine, theirs);
  return {
    measured: against === null ? figure(metric, value) : times(value),
    holds: value === null ? null : 'atMost' in limit ? value <= limit.atMost : value >= limit.atLeast,
    on: [...mine, ...theirs],
  };
}

/** The limit of a prediction as text. */
export function wantedOf({ against, limit }: Target): string {
  const bound = 'atMost' in limit ? `≤ ${limit.atMost}` : `≥ ${limit.atLeast}`;
  return against === null ? bound : `${bound}×`;
}

/** What a prediction compares with, in words; null when with nothing. */
export function comparedWith({ against }: Target): string | null {
  return against === null || typeof against === 'string' ? against : `“${against.variant}”`;
}

/** The servers of ours that a record has runs of. */
export function subjectsIn({ subjects }: Case, runs: readonly Run[]): string[] {
  return subjects.map(({ name }) => name).filter((name) => runs.some(({ server }) => server === name));
}

export function runsOf(runs: readonly Run[], variant: string, server: string): Run[] {
  return runs.filter((run) => run.variant === variant && run.server === server);
}

export function summaryIn(runs: readonly Run[], metric: Metric): Summary | null {
  const values = runs.map(({ values }) => values[metric]).filter((value) => value !== undefined);
  return values.length === 0 ? null : summaryOf(values);
}

/** Null when one of them has no such value, what is compared with is nothing, or memory seems to have become less: that says how loud the machine was. */
export function ratio(metric: Metric, mine: readonly Run[], theirs: readonly Run[]): number | null {
  const [above, below] = [summaryIn(mine, metric)?.median, summaryIn(theirs, metric)?.median];
  return above === undefined || below === undefined || above < 0 || below <= 0 ? null : above / below;
}

export function times(ratio: number | null): string {
  return ratio === null ? '–' : `${ratio.toFixed(2)}×`;
}

export function figure(metric: Metric, value: number | null): string {
  return value === null ? '–' : value.toLocaleString('en', { maximumFractionDigits: METRICS[metric].digits });
}
