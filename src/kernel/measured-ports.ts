/** Ports that count what passes through them. They know what is counted, not who looks at it. */
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Ownership } from './cluster/ownership.ts';
import type { Snapshots } from './persistence/snapshots.ts';

interface Measuring {
  readonly metrics: Metrics;
  readonly clock: Clock;
}

export function measuredSnapshots(snapshots: Snapshots, { metrics, clock }: Measuring): Snapshots {
  return {
    load: (stream) => snapshots.load(stream),
    async save(snapshot) {
      const startedMs = clock.monotonicMs();
      let outcome: 'saved' | 'stale' | 'failed' = 'failed';
      try {
        outcome = await snapshots.save(snapshot);
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
      let outcome: 'claimed' | 'owned' | 'gone' | 'failed' = 'failed';
      try {
        const claim = await ownership.claim(stream);
        outcome = 'refused' in claim ? claim.refused : 'claimed';
        return claim;
      } finally {
        metrics.count('atrium_claims_total', outcome);
      }
    },
    release: (stream, options) => ownership.release(stream, options),
  };
}
