/** How this process is doing: the time its event loop comes late, its CPU and its memory. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Strain } from '../kernel/shedding.ts';

export interface ProcessVitals {
  /** Of the time between the last two readings of the strain. */
  readonly loopLagP50Seconds: number;
  readonly loopLagP99Seconds: number;
  /** Since the start, user and system. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly uptimeSeconds: number;
}

export interface WatchedProcess {
  vitals(): ProcessVitals;
  /** Of the time since it was read last: whoever reads it begins another window. */
  strain(): Strain;
}

const RESOLUTION_MS = 50;
const NANOSECONDS = 1e9;

/** Begins to watch, until the process ends. */
export function watchProcess(): WatchedProcess {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let last = { p50: 0, p99: 0 };
  // what it measures includes its own interval
  const lagAt = (percentile: number): number => Math.max(0, delay.percentile(percentile) / NANOSECONDS - RESOLUTION_MS / 1_000);
  return {
    vitals() {
      const { user, system } = process.cpuUsage();
      return {
        loopLagP50Seconds: last.p50,
        loopLagP99Seconds: last.p99,
        cpuSeconds: (user + system) / 1e6,
        memoryBytes: process.memoryUsage.rss(),
        uptimeSeconds: process.uptime(),
      };
    },
    strain() {
      last = { p50: lagAt(50), p99: lagAt(99) };
      delay.reset();
      const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
      return { lagMs: last.p99 * 1_000, heapShare: used / limit };
    },
  };
}
