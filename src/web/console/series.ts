/** From reports of one worker, each a moment, to lines over time. Totals become rates. */

export interface WorkerReport {
  readonly name: string;
  readonly uptimeSeconds: number;
  readonly isReady: boolean;
  readonly rooms: number;
  readonly connections: number;
  readonly leaseRemainingSeconds: number;
  readonly gateAgeSeconds: number;
  readonly loopLagP50Seconds: number;
  readonly loopLagP99Seconds: number;
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly requestsTotal: number;
  readonly requestP50Seconds: number;
  readonly requestP99Seconds: number;
  readonly appendsTotal: number;
  readonly flushP50Seconds: number;
  readonly flushP99Seconds: number;
}

export interface Moment {
  readonly atSeconds: number;
  readonly report: WorkerReport;
}

/** How many moments are kept of each worker. */
const MOMENTS_MAX = 90;

/** The history with one more moment; it begins anew when the worker has begun a new life. */
export function withMoment(history: readonly Moment[], moment: Moment): readonly Moment[] {
  const isSame = history.at(-1)?.report.name === moment.report.name;
  return [...(isSame ? history : []), moment].slice(-MOMENTS_MAX);
}

type Total = 'requestsTotal' | 'appendsTotal' | 'cpuSeconds';

/** By how much a total grew per second up to each moment; null for the first. */
export function ratesOf(history: readonly Moment[], name: Total): (number | null)[] {
  return history.map((moment, index) => {
    const before = history[index - 1];
    if (before === undefined) return null;
    return (moment.report[name] - before.report[name]) / Math.max(0.1, moment.atSeconds - before.atSeconds);
  });
}

export function valuesOf(
  history: readonly Moment[],
  name: Exclude<keyof WorkerReport, 'name' | 'isReady'>,
  factor = 1,
): number[] {
  return history.map(({ report }) => report[name] * factor);
}
