/**
 * Curve: bytes of a Yjs document that is opened over the y-websocket protocol, somebody being there.
 * Expected: time and CPU of a join grow with the bytes that are sent and with nothing else, and so does what a snapshot takes of the worker.
 */
import type { Case, Outcome, Trial } from '../case.ts';
import { GROWTH } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { joinAgain } from './join.ts';
import { metricOf } from './own-metrics.ts';
import { typedDocument } from './typed-document.ts';

const nameOf = (bytes: number): string => (bytes < 1e6 ? `${bytes / 1e3} KB` : `${bytes / 1e6} MB`);
const MOST = GROWTH.documentBytes.at(-1)!;

export const growthDocument: Case = {
  name: 'growth-document',
  question: 'How do the wait and the cost of a join grow with the document?',
  unit: 'joins',
  grows: 'bytes of the document',
  subjects: [atrium],
  peers: [],
  variants: GROWTH.documentBytes.map((bytes) => ({ name: nameOf(bytes), at: bytes, load: (trial) => openIt(trial, bytes) })),
  metrics: ['p50Ms', 'p99Ms', 'cpuMsEach', 'snapshotMs', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    { variant: nameOf(MOST), metric: 'cpuMsEach', against: { variant: nameOf(1_000_000) }, limit: { atMost: MOST / 1e6 } },
  ],
};

async function openIt(trial: Trial, bytes: number): Promise<Outcome> {
  const { values, problems } = await joinAgain(trial, typedDocument(bytes));
  const snapshotMs = await snapshotMsOf(trial);
  return { values: { ...values, ...(snapshotMs !== null && { snapshotMs }) }, problems };
}

/** The mean over the snapshots while the document was typed; null when it was too small for one. */
async function snapshotMsOf({ address }: Trial): Promise<number | null> {
  const [count, sum] = [
    await metricOf(address, 'atrium_snapshot_seconds_count'),
    await metricOf(address, 'atrium_snapshot_seconds_sum'),
  ];
  return count === null || sum === null || count === 0 ? null : (sum / count) * 1_000;
}
