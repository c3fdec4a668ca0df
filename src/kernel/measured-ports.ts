/** Ports that count what passes through them. They know what is counted, not who looks at it. */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Tracer } from '../base/trace.ts';
import type { Bus } from './cluster/bus.ts';
import type { Directory } from './cluster/directory.ts';
import type { Ownership, Refusal } from './cluster/ownership.ts';
import type { Snapshots } from './persistence/snapshots.ts';

interface Measuring {
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export function measuredSnapshots(
  snapshots: Snapshots,
  { metrics, clock, tracer }: Measuring & { readonly tracer: Tracer },
): Snapshots {
  return {
    load: (stream) => snapshots.load(stream),
    async save(snapshot) {
      const startedMs = clock.monotonicMs();
      let outcome: 'saved' | 'stale' | 'failed' = 'failed';
      try {
        const facts = { 'atrium.stream': snapshot.stream, 'atrium.bytes': snapshot.bytes.length };
        outcome = await tracer.span('room.snapshot', { facts }, () => snapshots.save(snapshot));
        return outcome;
      } finally {
        metrics.count('atrium_snapshots_total', outcome);
        metrics.observe('atrium_snapshot_seconds', (clock.monotonicMs() - startedMs) / 1_000);
        metrics.observe('atrium_snapshot_bytes', snapshot.bytes.length);
      }
    },
  };
}

export function measuredOwnership(ownership: Ownership, { metrics }: Pick<Measuring, 'metrics'>): Ownership {
  return {
    get incarnation() {
      return ownership.incarnation;
    },
    async claim(stream) {
      let outcome: 'claimed' | Refusal['refused'] | 'failed' = 'failed';
      try {
        const claim = await ownership.claim(stream);
        outcome = 'refused' in claim ? claim.refused : 'claimed';
        return claim;
      } finally {
        metrics.count('atrium_claims_total', outcome);
      }
    },
    release: (release) => ownership.release(release),
  };
}

/** Counts the questions that are asked through it, and how they end. */
export function measuredBus(bus: Bus, { metrics, clock }: Measuring): Bus {
  return {
    address: bus.address,
    serve: (handler) => bus.serve(handler),
    tell: (to, message) => bus.tell(to, message),
    waitingBytes: (to) => bus.waitingBytes(to),
    async ask(to, message, options) {
      const startedMs = clock.monotonicMs();
      let outcome: 'answered' | 'refused' | 'unreachable' | 'unknown' = 'refused';
      try {
        const answer = await bus.ask(to, message, options);
        outcome = 'answered';
        return answer;
      } catch (error) {
        if (error instanceof AppError && error.code === 'WORKER_UNREACHABLE') outcome = 'unreachable';
        if (error instanceof AppError && error.code === 'OUTCOME_UNKNOWN') outcome = 'unknown';
        throw error;
      } finally {
        metrics.count('atrium_forwards_total', outcome);
        metrics.observe('atrium_forward_seconds', (clock.monotonicMs() - startedMs) / 1_000);
      }
    },
    onDown: (listener) => bus.onDown(listener),
    close: () => bus.close(),
  };
}

/** Shows whether the last heartbeat reached the directory: there is one each second. */
export function measuredDirectory(directory: Directory, { metrics }: Pick<Measuring, 'metrics'>): Directory {
  let isUp = 1;
  metrics.gauge('atrium_directory_up', () => isUp);
  return {
    async heartbeat(self) {
      try {
        const workers = await directory.heartbeat(self);
        isUp = 1;
        return workers;
      } catch (error) {
        isUp = 0;
        throw error;
      }
    },
    leave: (incarnation) => directory.leave(incarnation),
    locate: (key) => directory.locate(key),
    publish: (location) => directory.publish(location),
    retract: (location) => directory.retract(location),
    close: () => directory.close(),
  };
}
