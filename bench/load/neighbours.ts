/**
 * What people feel of others who are too much: of a hot room on the same worker, and of somebody in their own room who does not read.
 * Expected: p99 of the calm at most twice what it is without them, because a turn of the loop does bounded work for a room; and the memory
 * that the slow one costs is bounded by the send buffer (2 MB), because then its socket is closed.
 */
import type { Case, Company, Outcome, Trial } from '../case.ts';
import { NEIGHBOURS, SLOW_CONSUMER } from '../config.ts';
import { watchMemory } from '../memory.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { CALM, calmVariants } from './calm-rooms.ts';
import { Crowd } from './crowd.ts';
import { editors, typedFrames } from './fanout-yjs.ts';
import { largeRooms } from './large-rooms.ts';
import { Ledger, markOf } from './ledger.ts';
import { Line, wayInto } from './line.ts';
import { startPace } from './pace.ts';
import { people } from './presence-sdk.ts';
import { measure, outcomeOf, settled } from './window.ts';

const FETCH = Buffer.from('[{"type":200}]');
const BESIDE = 'calm rooms beside a hot one';
const AUDIENCE = 'calm rooms beside one of a thousand people';
const RETURNING = 'calm rooms beside a large one that all come back to';
const READING = 'a room in which all read';
const ONE_SLOW = 'the same, one does not read';
/** The 2 MB that one socket may have waiting (reliability 2.f), and what events, made and freed, let the heap grow by meanwhile. */
const GROWN_MB_MAX = 8;

export const neighbours: Case = {
  name: 'neighbours',
  question: 'What do people feel of a hot room on their worker, and of somebody in their room who does not read?',
  unit: 'deliveries',
  subjects: [atrium, atriumCluster],
  peers: [rawUws],
  variants: [
    ...calmVariants('neighbours', [
      { name: BESIDE, company: (trial) => startTalk(trial, NEIGHBOURS.hot) },
      { name: AUDIENCE, company: (trial) => startTalk(trial, NEIGHBOURS.audience) },
      { name: RETURNING, company: startReturning, notFor: [rawUws.name] }, // it keeps nothing that could be large
    ]),
    { name: READING, load: (trial) => largeEvents(trial, 'all read') },
    { name: ONE_SLOW, load: (trial) => largeEvents(trial, 'one does not read') },
  ],
  seconds: NEIGHBOURS.seconds,
  warmupSeconds: NEIGHBOURS.warmupSeconds,
  metrics: ['p50Ms', 'p99Ms', 'grownMb', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    { variant: BESIDE, metric: 'p99Ms', against: { variant: CALM }, limit: { atMost: 2 } },
    { variant: AUDIENCE, metric: 'p99Ms', against: { variant: CALM }, limit: { atMost: 2 } },
    { variant: RETURNING, metric: 'p99Ms', against: { variant: CALM }, limit: { atMost: 2 } },
    { variant: ONE_SLOW, metric: 'p99Ms', against: { variant: READING }, limit: { atMost: 2 } },
    { variant: ONE_SLOW, metric: 'grownMb', against: null, limit: { atMost: GROWN_MB_MAX } },
  ],
};

interface Talk {
  readonly clients: number;
  readonly typists: number;
  /** Updates of each typist. */
  readonly perSecond: number;
}

/** Its frames are made before and not read when they arrive: the load is to have time for the calm. */
async function startTalk(trial: Trial, { clients, typists, perSecond }: Talk): Promise<Company> {
  const ledger = new Ledger({ senders: typists, clients, reach: 'others' });
  const entry = editors({ roomId: 'talk', clients, ledger });
  const crowd = await Crowd.enter(trial, { ...entry, receive: () => undefined });
  const count = Math.ceil((trial.warmupSeconds + trial.seconds + 5) * perSecond);
  const frames = Array.from({ length: typists }, (_, typist) => typedFrames(typist, count));
  const said = new Array<number>(typists).fill(0);
  const stopTalking = startPace({
    senders: typists,
    perSecond,
    send(typist) {
      const frame = frames[typist]![said[typist]!++];
      if (frame !== undefined) crowd.send(typist, frame);
    },
  });
  return {
    stop() {
      stopTalking();
      crowd.leave();
      return crowd.losses.map((loss) => `the company: ${loss}`);
    },
  };
}

/** Each fetches the Storage when it is in, and does not read what it gets. */
async function startReturning(trial: Trial): Promise<Company> {
  const { clients, perSecond, nodes } = NEIGHBOURS.returning;
  const [room] = await largeRooms(trial, { called: 'returning', rooms: 1, nodes });
  const way = wayInto(trial, 'sdk', room!);
  let fetched = 0;
  const enter = (): Line => {
    const line = new Line(way, {
      hello: FETCH,
      hear(frame) {
        if (frame.length > nodes) fetched += 1;
      },
    });
    line.socket.on('error', () => undefined); // of one that leaves before it is in
    return line;
  };
  const lines = Array.from({ length: clients }, enter);
  const stopReturning = startPace({
    senders: clients,
    perSecond: perSecond / clients,
    send(client) {
      lines[client]!.socket.terminate();
      lines[client] = enter();
    },
  });
  return {
    stop() {
      stopReturning();
      for (const line of lines) line.socket.terminate();
      return fetched > perSecond ? [] : [`only ${fetched} clients got the Storage`];
    },
  };
}

/** Events, because nobody keeps them: what the server grows by is what waits to be sent. */
async function largeEvents(trial: Trial, reading: 'all read' | 'one does not read'): Promise<Outcome> {
  const { clients, senders, perSecond, bytes } = SLOW_CONSUMER;
  const ledger = new Ledger({ senders, clients, reach: 'others' });
  const crowd = await Crowd.enter(trial, people({ roomId: 'events', clients, ledger }));
  const bystander = await Crowd.enter(trial, {
    ...people({ roomId: 'events', clients: 1, ledger }),
    receive: () => undefined,
  });
  const padding = 'x'.repeat(bytes);
  const stopTalking = startPace({
    senders,
    perSecond,
    send: (sender) => crowd.send(sender, eventFrame(markOf(sender, ledger.sent(sender)), padding)),
  });
  const memory = watchMemory(trial.address.pid);
  const window = await measure(trial, {
    open() {
      memory.begin();
      if (reading === 'one does not read') bystander.pause(0);
      ledger.open();
    },
    close: () => ledger.close(),
  });
  const grownMb = memory.end();
  stopTalking();
  await settled(ledger);
  crowd.leave();
  bystander.leave();
  const { values, problems } = outcomeOf({
    window,
    count: ledger.delivered,
    latenciesMs: ledger.othersMs,
    completeness: ledger.delivered / ledger.expected,
    problems: [...crowd.losses, ...ledger.problems],
  });
  return { values: { ...values, grownMb }, problems };
}

function eventFrame(mark: string, padding: string): Buffer {
  return Buffer.from(`[{"type":103,"event":{"mark":"${mark}","padding":"${padding}"}}]`);
}
