/** What can be measured, how it is shown, and whether one server's value divided by another's means anything. */

export const METRICS = {
  cpuPerMillion: { title: 'server CPU s per 1M', digits: 2, compared: true },
  helperCpuPerMillion: { title: 'stores CPU s per 1M', digits: 2, compared: false },
  p50Ms: { title: 'p50 ms', digits: 2, compared: true },
  p99Ms: { title: 'p99 ms', digits: 2, compared: true },
  perSecond: { title: 'per second', digits: 0, compared: true },
  /** Memory of the server that the rooms of a case added, with those who are in them. */
  kbPerRoom: { title: 'KB per room', digits: 1, compared: true },
  kbPerConnection: { title: 'KB per connection', digits: 1, compared: true },
  /** Where few things happen that cost much each. */
  cpuMsEach: { title: 'server CPU ms each', digits: 2, compared: true },
  /** From a message's sending to its arrival at the last who must get it. */
  lastP50Ms: { title: 'p50 ms to the last', digits: 2, compared: true },
  lastP99Ms: { title: 'p99 ms to the last', digits: 2, compared: true },
  /** What the server's memory grew by, at its highest. */
  grownMb: { title: 'grown by MB', digits: 1, compared: true },
  /** Requests, and sockets that were closed. */
  refusedPerSecond: { title: 'refused per second', digits: 0, compared: true },
  createMs: { title: 'create p50 ms', digits: 2, compared: true },
  wakeMs: { title: 'wake p50 ms', digits: 2, compared: true },
  listMs: { title: 'list p50 ms', digits: 2, compared: true },
  /** What has changed in an inbox, as a browser asks each minute. */
  inboxMs: { title: 'inbox delta p50 ms', digits: 2, compared: true },
  threadsMs: { title: 'threads of a user p50 ms', digits: 2, compared: true },
  deleteMs: { title: 'delete p50 ms', digits: 2, compared: true },
  snapshotMs: { title: 'snapshot ms', digits: 1, compared: true },
  /** Share of what had to arrive that did. */
  completeness: { title: 'complete', digits: 4, compared: false },
  /** CPU seconds of the load process per second. */
  loadBusy: { title: 'load busy', digits: 2, compared: false },
  /** Cores used by processes that are neither server nor load, and by other guests of the machine. */
  othersBusy: { title: 'others busy', digits: 2, compared: false },
  /** Of these, cores that other guests of the machine had while something here wanted to run. */
  stolen: { title: 'stolen', digits: 3, compared: false },
} as const;

export type Metric = keyof typeof METRICS;

/** Nearest rank. @param sorted ascending, not empty. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)]!;
}

export interface Summary {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** @param values not empty. */
export function summaryOf(values: readonly number[]): Summary {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
  return { median, least: sorted[0]!, most: sorted.at(-1)! };
}
