/**
 * Opening a large Yjs document over the y-websocket protocol.
 * Expected: warm at most twice the time of a relay that has the bytes, at three times its CPU: merged bytes are sent as they are. Cold, the
 * room reads its snapshot first, which is a query and a copy, not a `Y.Doc`. To a client of the SDK it is base64 in JSON, which is made once for all who enter: a
 * tenth of the vendor's CPU, and half of its time, most of which is the client's, who reads that text.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Case, type Outcome, type Trial, targetsFor } from '../case.ts';
import { IDLE_ROOM_SECONDS, JOIN, ROOM_GONE_MS_MAX } from '../config.ts';
import { percentile } from '../metrics.ts';
import { atrium, atriumWith } from '../servers/atrium.ts';
import { atriumCluster, atriumClusterWith } from '../servers/atrium-cluster.ts';
import { hocuspocus } from '../servers/hocuspocus.ts';
import { rawUwsWithDocuments } from '../servers/raw-uws.ts';
import { bySdk } from '../servers/sdk-dialect.ts';
import type { Address } from '../servers/server.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import { yWebsocket } from '../servers/y-websocket.ts';
import { metricOf } from './own-metrics.ts';
import { type TypedDocument, typedDocument } from './typed-document.ts';
import { bringDocument, join, wholenessOf } from './visit.ts';
import { measureWhile, sharesIn, type Window } from './window.ts';

const MB = (JOIN.documentBytes / 1e6).toFixed(1);
const WARM = `${MB} MB, somebody is there`;
const BY_SDK = `${MB} MB, by the SDK`;
const COLD = `${MB} MB, from a snapshot`;
const METRICS = ['p50Ms', 'p99Ms', 'cpuMsEach', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'] as const;

export const joinWarm: Case = {
  name: 'join',
  question: 'How long until somebody who enters has a large document, and what does it cost the server?',
  unit: 'joins',
  subjects: [atrium, atriumCluster],
  peers: [rawUwsWithDocuments, yWebsocket, hocuspocus, vendorDev],
  variants: [
    { name: WARM, load: (trial) => joinAgain(trial, typedDocument(JOIN.documentBytes)) },
    {
      name: BY_SDK,
      load: (trial) => joinAgain(trial, typedDocument(JOIN.documentBytes), bySdk(trial.server)),
      notFor: [rawUwsWithDocuments.name, yWebsocket.name, hocuspocus.name],
    },
  ],
  metrics: METRICS,
  targets: [
    ...targetsFor(
      { variant: WARM, metric: 'p50Ms' },
      { atMost: { 'raw-uws': 2, 'y-websocket': 0.17, hocuspocus: 0.16, 'vendor-dev': 0.15 } },
    ),
    ...targetsFor(
      { variant: WARM, metric: 'cpuMsEach' },
      { atMost: { 'raw-uws': 3, 'y-websocket': 0.06, hocuspocus: 0.045, 'vendor-dev': 0.06 } },
    ),
    ...targetsFor({ variant: BY_SDK, metric: 'p50Ms' }, { atMost: { 'vendor-dev': 0.5 } }),
    ...targetsFor({ variant: BY_SDK, metric: 'cpuMsEach' }, { atMost: { 'vendor-dev': 0.1 } }),
  ],
};

const SLEEPY = { IDLE_ROOM_SECONDS: String(IDLE_ROOM_SECONDS) };

/** Only of servers that put rooms to sleep; the relay's figure beside it is that of memory. */
export const joinCold: Case = {
  name: 'join-cold',
  question: 'And when nobody was there for a while, so that the room has to be read first?',
  unit: 'joins',
  subjects: [atriumWith(SLEEPY), atriumClusterWith(SLEEPY)],
  peers: [rawUwsWithDocuments],
  variants: [{ name: COLD, load: joinAsleep }],
  metrics: METRICS,
  targets: [{ variant: COLD, metric: 'p50Ms', against: null, limit: { atMost: 60 } }],
};

/** One after the other, through the warm-up and the measured time, while the room is awake; who enters sees `server`. */
export async function joinAgain(trial: Trial, typed: TypedDocument, server = trial.server): Promise<Outcome> {
  const author = await bringDocument(trial, { roomId: 'join', typed });
  const isWhole = wholenessOf(typed);
  const newcomers = { ...trial, server };
  await joinFor(trial.warmupSeconds, newcomers, isWhole);
  const visits: Visit[] = [];
  const window = await measureWhile(trial, async () => {
    visits.push(...(await joinFor(trial.seconds, newcomers, isWhole)));
  });
  author.leave();
  return joinsOutcome(visits, window);
}

interface Visit {
  readonly ms: number;
  readonly isWhole: boolean;
}

async function joinFor(seconds: number, trial: Trial, isWhole: (update: Uint8Array) => boolean): Promise<Visit[]> {
  const visits: Visit[] = [];
  const untilMs = performance.now() + seconds * 1_000;
  while (performance.now() < untilMs) {
    const { ms, update } = await join(trial, 'join');
    visits.push({ ms, isWhole: isWhole(update) });
  }
  return visits;
}

/** Each room once, after all of them have fallen asleep. */
async function joinAsleep(trial: Trial): Promise<Outcome> {
  const typed = typedDocument(JOIN.documentBytes);
  const rooms = Array.from({ length: JOIN.coldRooms }, (_, index) => `cold-${index}`);
  for (const roomId of rooms) (await bringDocument(trial, { roomId, typed })).leave();
  await untilAsleep(trial.address);
  const isWhole = wholenessOf(typed);
  const visits: Visit[] = [];
  const window = await measureWhile(trial, async () => {
    for (const roomId of rooms) {
      const { ms, update } = await join(trial, roomId);
      visits.push({ ms, isWhole: isWhole(update) });
    }
  });
  return joinsOutcome(visits, window);
}

/** Waits until the server holds no room; one that does not tell is not waited for. @throws an Error when it keeps them. */
async function untilAsleep(address: Address): Promise<void> {
  const deadlineMs = performance.now() + ROOM_GONE_MS_MAX;
  while (((await metricOf(address, 'atrium_rooms')) ?? 0) > 0) {
    if (performance.now() > deadlineMs) throw new Error(`rooms were still awake after ${ROOM_GONE_MS_MAX} ms`);
    await sleep(250);
  }
}

function joinsOutcome(visits: readonly Visit[], window: Window): Outcome {
  const { seconds, cpu: spent } = window;
  const whole = visits.filter(({ isWhole }) => isWhole);
  if (whole.length === 0) throw new Error('nobody got the document whole');
  const sorted = Float64Array.from(whole.map(({ ms }) => ms)).sort();
  const values = {
    p50Ms: percentile(sorted, 0.5),
    p99Ms: percentile(sorted, 0.99),
    cpuMsEach: (spent.server / visits.length) * 1_000,
    perSecond: visits.length / seconds,
    completeness: whole.length / visits.length,
    ...sharesIn(window),
  };
  const missing = visits.length - whole.length;
  return {
    values,
    problems: missing === 0 ? [] : [`${missing} of ${visits.length} joins brought another document than was typed`],
  };
}
