/**
 * The wait for an acknowledgement at a given rate, durability strict, over many rooms.
 * Expected at 5,000 ops a second: p50 at most 3 ms, p99 at most 15 ms: an op waits for the rest of the commit in flight and for its own, which it
 * shares with whatever came meanwhile, from all rooms. At 20,000 commits hold more; they do not come more often.
 */
import type { Case, Outcome, Trial } from '../case.ts';
import { ACK_LATENCY, WRITES_WARMUP_SECONDS } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { rawUws, rawUwsWithCommits } from '../servers/raw-uws.ts';
import { measure, outcomeOf, settled } from './window.ts';
import { WritingRooms } from './writing-rooms.ts';

const { rooms, clients } = ACK_LATENCY;

const nameOf = (perSecond: number): string =>
  `${(rooms * clients * perSecond).toLocaleString('en')} ops/s, ${rooms} rooms × ${clients} clients`;

export const ackLatency: Case = {
  name: 'ack-latency',
  question: 'How long does a client wait until its Storage op is in Postgres, at a rate that many rooms make together?',
  unit: 'ops',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, rawUwsWithCommits],
  variants: ACK_LATENCY.perSecond.map((perSecond) => ({
    name: nameOf(perSecond),
    load: (trial) => writeAtPace(trial, perSecond),
  })),
  warmupSeconds: WRITES_WARMUP_SECONDS,
  metrics: ['p50Ms', 'p99Ms', 'cpuPerMillion', 'helperCpuPerMillion', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    { variant: nameOf(ACK_LATENCY.perSecond[0]), metric: 'p50Ms', against: null, limit: { atMost: 3 } },
    { variant: nameOf(ACK_LATENCY.perSecond[0]), metric: 'p99Ms', against: null, limit: { atMost: 15 } },
  ],
};

async function writeAtPace(trial: Trial, perSecond: number): Promise<Outcome> {
  const writing = await WritingRooms.make(trial, { rooms, clients });
  const { book } = writing;
  const stopWriting = writing.startWriting(perSecond);
  const window = await measure(trial, book);
  stopWriting();
  await settled(book);
  writing.leave();
  return outcomeOf({
    window,
    count: book.messages,
    latenciesMs: book.ownMs,
    completeness: book.delivered / book.expected,
    problems: [...writing.losses, ...book.problems],
  });
}
