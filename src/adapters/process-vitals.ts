/** How this process is doing: the time its event loop comes late, its CPU and its memory. */
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import type { Strain } from '../kernel/shedding.ts';

export interface ProcessVitals {
  /** Of the last seconds. */
  readonly loopLagP50Seconds: number;
  readonly loopLagP99Seconds: number;
  /** Since the start, user and system. */
  readonly cpuSeconds: number;
  readonly memoryBytes: number;
  readonly uptimeSeconds: number;
}

const RESOLUTION_MS = 20;
const WINDOW_SECONDS = 5;
const NANOSECONDS = 1e9;

/** Begins to watch, until the process ends; the returned function reads. */
export function watchProcess(): () => ProcessVitals {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  let windowFrom = process.uptime();
  let last = { p50: 0, p99: 0 };
  // what it measures includes its own interval
  const lagAt = (percentile: number): number => Math.max(0, delay.percentile(percentile) / NANOSECONDS - RESOLUTION_MS / 1_000);
  return () => {
    const uptimeSeconds = process.uptime();
    if (delay.count > 0) last = { p50: lagAt(50), p99: lagAt(99) };
    if (uptimeSeconds - windowFrom > WINDOW_SECONDS) {
      delay.reset();
      windowFrom = uptimeSeconds;
    }
    const { user, system } = process.cpuUsage();
    return {
      loopLagP50Seconds: last.p50,
      loopLagP99Seconds: last.p99,
      cpuSeconds: (user + system) / 1e6,
      memoryBytes: process.memoryUsage.rss(),
      uptimeSeconds,
    };
  };
}

/** Begins to watch, until the process ends; the returned function tells of the time since it was called last. */
export function watchStrain(): () => Strain {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS });
  delay.enable();
  return () => {
    const loopLagMs = Math.max(0, delay.percentile(99) / NANOSECONDS_PER_MS - RESOLUTION_MS);
    delay.reset();
    const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics();
    return { loopLagMs, heapShare: used / limit };
  };
}

const NANOSECONDS_PER_MS = 1e6;
