/**
 * Very many who watch few: one room, its viewers on four workers.
 * Expected: an update crosses to each other worker once, whoever listens there, so that the CPU per delivery, over all workers, is at most twice that
 * of one relay; and the last of 10,000 has an update within half a second on one core for all.
 */
import type { Case, Outcome, Trial } from '../case.ts';
import { VIEWERS } from '../config.ts';
import { percentile } from '../metrics.ts';
import { atriumFourWith } from '../servers/atrium-cluster.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { Crowd } from './crowd.ts';
import { editors, typing, updatesReach } from './fanout-yjs.ts';
import { Ledger } from './ledger.ts';
import { startPace } from './pace.ts';
import { measure, outcomeOf, settled } from './window.ts';

const { viewers, typists, perSecond } = VIEWERS;
const NAME = `${viewers.toLocaleString('en')} viewers, ${typists} typing ${perSecond}/s`;
/** Entering takes longer than a silent connection may be. */
const LIMITS = { CONNECTIONS_PER_ROOM_MAX: '20000', IDLE_CONNECTION_SECONDS: '3600' };

export const viewersCase: Case = {
  name: 'viewers',
  question: 'How long until the last of 10,000 viewers has what somebody typed, when they are on four workers?',
  unit: 'deliveries',
  subjects: [atriumFourWith(LIMITS)],
  peers: [rawUws],
  variants: [{ name: NAME, load: watch }],
  metrics: [
    'p50Ms',
    'p99Ms',
    'lastP50Ms',
    'lastP99Ms',
    'cpuPerMillion',
    'helperCpuPerMillion',
    'perSecond',
    'completeness',
    'loadBusy',
    'othersBusy',
  ],
  targets: [
    { variant: NAME, metric: 'cpuPerMillion', against: 'raw-uws', limit: { atMost: 2 } },
    { variant: NAME, metric: 'lastP99Ms', against: null, limit: { atMost: 500 } },
    { variant: NAME, metric: 'completeness', against: null, limit: { atLeast: 1 } },
  ],
};

async function watch(trial: Trial): Promise<Outcome> {
  const clients = typists + viewers;
  const othersMs: number[] = [];
  const last = new Map<number, number>();
  const ledger = new Ledger({
    senders: typists,
    clients,
    reach: updatesReach(trial.server),
    onTime(_, ms, sender, number) {
      othersMs.push(ms);
      const message = number * typists + sender;
      last.set(message, Math.max(ms, last.get(message) ?? 0));
    },
  });
  const crowd = await Crowd.enter(trial, editors({ roomId: 'stage', clients, ledger }));
  const type = Array.from({ length: typists }, (_, typist) => typing(typist));
  const stopTyping = startPace({
    senders: typists,
    perSecond,
    send: (typist) => crowd.send(typist, type[typist]!(ledger.sent(typist))),
  });
  const window = await measure(trial, ledger);
  stopTyping();
  await settled(ledger);
  crowd.leave();
  const { values, problems } = outcomeOf({
    window,
    count: ledger.delivered,
    latenciesMs: othersMs,
    completeness: ledger.delivered / ledger.expected,
    problems: [...crowd.losses.slice(0, 3), ...ledger.problems],
  });
  const lastMs = Float64Array.from(last.values()).sort();
  return { values: { ...values, lastP50Ms: percentile(lastMs, 0.5), lastP99Ms: percentile(lastMs, 0.99) }, problems };
}
