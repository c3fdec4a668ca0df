/** What this worker says of itself to whoever looks at the console, its metrics as of now and how its process is doing; and what it refuses when that does badly. */
import { type ProcessVitals, watchProcess } from '../adapters/process-vitals.ts';
import { systemClock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import { RecentMetrics } from '../base/recent-metrics.ts';
import type { Settings } from '../config.ts';
import type { WorkerReport } from '../features/console/shapes.ts';
import { Shedding, type Strain } from '../kernel/shedding.ts';
import type { Intake } from '../room/intake.ts';

export interface Vitals {
  /** Counts for the console, and for those it was made around. */
  readonly metrics: Metrics;
  /** Looks until it is closed. */
  readonly shedding: Shedding;
  report(): WorkerReport;
}

interface OpenVitals {
  readonly log: Log;
  /** Where is counted, too. */
  readonly metrics: Metrics;
  readonly workerName: string;
  readonly intake: Pick<Intake, 'readLagMs'>;
}

export function openVitals(
  { SHED_LAG_MS, SHED_HEAP_PERCENT }: Settings,
  { log, metrics: others, workerName, intake }: OpenVitals,
): Vitals {
  const metrics = new RecentMetrics(others, systemClock);
  const { vitals, strain } = watchProcess();
  const limits = { lagMs: SHED_LAG_MS, heapShare: SHED_HEAP_PERCENT / 100 };
  const readStrain = (): Strain => {
    const { lagMs, heapShare } = strain();
    return { lagMs: Math.max(lagMs, intake.readLagMs()), heapShare };
  };
  const shedding = new Shedding({ clock: systemClock, log, metrics, limits, readStrain });
  return { metrics, shedding, report: () => reportOf(metrics, { name: workerName, ...vitals() }) };
}

type OfProcess = Pick<WorkerReport, 'name'> & ProcessVitals;

function reportOf(metrics: RecentMetrics, ofProcess: OfProcess): WorkerReport {
  const { totals, gauges, recent } = metrics.read();
  return {
    ...ofProcess,
    isReady: gauges.atrium_ready === 1,
    rooms: gauges.atrium_rooms,
    connections: gauges.atrium_connections,
    leaseRemainingSeconds: gauges.atrium_lease_remaining_seconds,
    gateAgeSeconds: gauges.atrium_journal_oldest_seconds,
    requestsTotal: totals.atrium_rest_requests_total,
    requestP50Seconds: recent.atrium_rest_request_seconds.p50,
    requestP99Seconds: recent.atrium_rest_request_seconds.p99,
    appendsTotal: totals.atrium_journal_appends_total,
    flushP50Seconds: recent.atrium_journal_flush_seconds.p50,
    flushP99Seconds: recent.atrium_journal_flush_seconds.p99,
  };
}
