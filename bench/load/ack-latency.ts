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
import { Crowd } from './crowd.ts';
import { JointLedger } from './joint-ledger.ts';
import { Ledger } from './ledger.ts';
import { eachOf } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { actorIn, opFrame, writers } from './storage-ops.ts';
import { measure, outcomeOf, settled } from './window.ts';

const { rooms, clients } = ACK_LATENCY;
/** Rooms that are opened and entered at a time. */
const ROOMS_AT_ONCE = 16;

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

interface Room {
  readonly ledger: Ledger;
  readonly crowd: Crowd;
  readonly actors: readonly number[];
}

async function writeAtPace(trial: Trial, perSecond: number): Promise<Outcome> {
  const all = await enterRooms(trial);
  const book = new JointLedger(all.map(({ ledger }) => ledger));
  const stopWriting = startPace({
    senders: rooms * clients,
    perSecond,
    // Neighbours in time are of different rooms, as they would be by chance.
    send(turn) {
      const { ledger, crowd, actors } = all[turn % rooms]!;
      const client = Math.floor(turn / rooms);
      crowd.send(client, opFrame({ actor: actors[client]!, client, number: ledger.sent(client) }));
    },
  });
  const window = await measure(trial, book);
  stopWriting();
  await settled(book);
  for (const { crowd } of all) crowd.leave();
  return outcomeOf({
    window,
    count: book.messages,
    latenciesMs: book.ownMs,
    completeness: book.delivered / book.expected,
    problems: [...all.flatMap(({ crowd }) => crowd.losses), ...book.problems],
  });
}

async function enterRooms(trial: Trial): Promise<Room[]> {
  const entered: Room[] = [];
  await eachOf(rooms, ROOMS_AT_ONCE, async (index) => {
    const ledger = new Ledger({ senders: clients, clients, reach: 'all' });
    const crowd = await Crowd.enter(trial, writers({ roomId: `ack-${index}`, clients, ledger }));
    entered.push({ ledger, crowd, actors: crowd.welcomes.map(actorIn) });
  });
  return entered;
}
