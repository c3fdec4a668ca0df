/**
 * What calm rooms feel of somebody on their worker who goes beyond a limit (reliability 2.f).
 * Expected: p99 at most twice what it is without, because refusing costs less than doing; and each is refused, but for writes with
 * which Postgres keeps up.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import * as Y from 'yjs';
import type { Case, Company, Target, Trial } from '../case.ts';
import { HEAT, LIMITS, NEIGHBOURS } from '../config.ts';
import { atriumWith } from '../servers/atrium.ts';
import { atriumClusterWith } from '../servers/atrium-cluster.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { type Beside, CALM, calmVariants } from './calm-rooms.ts';
import { Crowd } from './crowd.ts';
import { documentOf } from './documents.ts';
import { ask, askBytes, largeRooms } from './large-rooms.ts';
import { Ledger } from './ledger.ts';
import { eachOf } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { people } from './presence-sdk.ts';
import {
  badRequests,
  hostileUpdates,
  longBodies,
  longFrames,
  longPresences,
  streamedBodies,
  waitingDeletions,
  waitingUpdates,
} from './refused.ts';
import { Seat, startDialling } from './seat.ts';
import { typedDocument } from './typed-document.ts';

const WRITES = 'writes that do not fit';
const LONG_BODIES = 'bodies that are too long';
const STREAMED_BODIES = 'bodies that are too long and do not say so';
const LONG_UPDATES = 'long Yjs updates';
const LARGE_READS = 'large documents that change, read all the time';
const LARGE_EDITS = 'large documents taken to be edited, all the time';
/** Where Postgres has each write before the next body is read, none has to be refused; reads of large documents wait for each other, and long updates are taken. */
const NOT_REFUSED: ReadonlySet<string> = new Set([LONG_UPDATES, WRITES, LARGE_READS, LARGE_EDITS]);
/** What calm rooms feel of them beside the relay is the machine's doing. */
const LARGE_BODIES: ReadonlySet<string> = new Set([WRITES, LONG_UPDATES, LONG_BODIES, STREAMED_BODIES]);
/** Beside those of whom each is to be refused: how many come in a second. */
interface Trouble extends Beside {
  readonly comes?: number;
}

const { dialsPerSecond, longBodies: bodies, waiting, badRequestsPerSecond, refusedShareMin } = LIMITS;
const early = waiting.clients * waiting.perSecond;
const TROUBLES: readonly Trouble[] = [
  { name: 'too many messages', company: tooManyMessages },
  { name: 'a room that is full', company: fullRoom, comes: dialsPerSecond },
  { name: 'frames that are too long', company: longFrames, comes: dialsPerSecond },
  { name: 'presences that are too long', company: longPresences, comes: dialsPerSecond },
  { name: 'Yjs updates made to harm', company: hostileUpdates, comes: dialsPerSecond },
  { name: 'Yjs updates that build on what never comes', company: waitingUpdates, comes: early },
  { name: 'Yjs deletions of what never comes', company: waitingDeletions, comes: early },
  { name: LONG_UPDATES, company: longUpdates },
  { name: LONG_BODIES, company: longBodies, comes: bodies.perSecond },
  { name: STREAMED_BODIES, company: streamedBodies, comes: bodies.perSecond },
  { name: 'requests beyond the bounds of JSON, patches and queries', company: badRequests, comes: badRequestsPerSecond },
  { name: WRITES, company: largeWrites },
  { name: LARGE_READS, company: largeReads },
  { name: LARGE_EDITS, company: largeEdits },
];

export const limits: Case = {
  name: 'limits',
  question: 'What do calm rooms feel of somebody on their worker who goes beyond a limit?',
  unit: 'deliveries',
  subjects: [atriumWith(LIMITS.settings), atriumClusterWith(LIMITS.settings)],
  peers: [rawUws], // it refuses nobody
  variants: calmVariants(
    'limits',
    TROUBLES.map(({ name, company }) => ({ name, company, notFor: LARGE_BODIES.has(name) ? [] : [rawUws.name] })),
  ),
  seconds: NEIGHBOURS.seconds,
  warmupSeconds: NEIGHBOURS.warmupSeconds,
  metrics: ['p50Ms', 'p99Ms', 'refusedPerSecond', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: TROUBLES.flatMap(({ name, comes }): Target[] => [
    { variant: name, metric: 'p99Ms', against: { variant: CALM }, limit: { atMost: 2 } },
    ...(NOT_REFUSED.has(name)
      ? []
      : [
          {
            variant: name,
            metric: 'refusedPerSecond',
            against: null,
            limit: { atLeast: comes === undefined ? 1 : comes * refusedShareMin },
          } as const,
        ]),
  ]),
};

/** One client each in rooms of their own; whoever is closed comes back at once. */
async function tooManyMessages(trial: Trial): Promise<Company> {
  const { clients, framesPerSecond, messagesPerFrame } = LIMITS.loud;
  const frame = Buffer.from(JSON.stringify(Array.from({ length: messagesPerFrame }, () => ({ type: 103, event: 'loud' }))));
  const closes = { count: 0 };
  const seats = Array.from({ length: clients }, (_, client) => new Seat(trial, `loud-${client}`, closes));
  await Promise.all(seats.map((seat) => seat.take()));
  const stopTalking = startPace({ senders: clients, perSecond: framesPerSecond, send: (client) => seats[client]!.say(frame) });
  return {
    refused: () => closes.count,
    stop() {
      stopTalking();
      for (const seat of seats) seat.leave();
      return [];
    },
  };
}

async function fullRoom(trial: Trial): Promise<Company> {
  const clients = LIMITS.seats;
  const ledger = new Ledger({ senders: 1, clients, reach: 'others' });
  const seated = await Crowd.enter(trial, people({ roomId: 'full', clients, ledger }));
  const { closes, stop } = startDialling(trial, { roomId: 'full', perSecond: LIMITS.dialsPerSecond });
  return {
    refused: () => closes.count,
    stop() {
      stop();
      seated.leave();
      return seated.losses;
    },
  };
}

/** All at once, each second: together more than may wait for the database. Before that as fast as they are answered, as `HEAT` says. */
async function largeWrites(trial: Trial): Promise<Company> {
  const { writers, bytes } = LIMITS.writes;
  await trial.server.openRoom(trial.address, 'writes');
  const body = JSON.stringify([{ op: 'add', path: '/large', value: 'x'.repeat(bytes) }]);
  await ask(trial, 'POST', '/v2/rooms/writes/storage', JSON.stringify(documentOf(10)));
  let refused = 0;
  const faults = new Set<string>();
  const write = async (): Promise<void> => {
    const status = await ask(trial, 'PATCH', '/v2/rooms/writes/storage/json-patch', body);
    if (status === 429 || status === 503) refused += 1;
    else if (status !== 200) faults.add(`a write was answered ${status}`);
  };
  const writeAll = (): Promise<unknown> => Promise.all(Array.from({ length: writers }, write));
  const hotAtMs = performance.now() + HEAT.seconds * 1_000;
  while (performance.now() < hotAtMs) await writeAll();
  const stopWriting = startPace({ senders: 1, perSecond: 1, send: () => void writeAll() });
  return {
    refused: () => refused,
    stop() {
      stopWriting();
      return [...faults];
    },
  };
}

/** Each into a room of its own. */
async function longUpdates(trial: Trial): Promise<Company> {
  const { bytes, perSecond } = LIMITS.longUpdates;
  const update = Y.encodeStateAsUpdate(typedDocument(bytes).doc);
  const losses: string[] = [];
  const put = async (turn: number): Promise<void> => {
    const room = `long-${turn}`;
    await trial.server.openRoom(trial.address, room);
    const status = await askBytes(trial, 'PUT', `/v2/rooms/${room}/ydoc`, update);
    if (status !== 200) losses.push(`a long Yjs update was answered ${status}`);
  };
  let turn = 0;
  await put(turn);
  const stop = startPace({
    senders: 1,
    perSecond,
    send() {
      turn += 1;
      void put(turn);
    },
  });
  return {
    stop() {
      stop();
      return losses;
    },
  };
}

/** Each changes before it is read, so that nobody can answer from what was made before. */
async function largeReads(trial: Trial): Promise<Company> {
  return changing(trial, (room) => ask(trial, 'GET', `/v2/rooms/${room}/storage`));
}

/** All nodes, as a back end takes them that edits with the SDK. */
async function largeEdits(trial: Trial): Promise<Company> {
  return changing(trial, (room) => ask(trial, 'POST', `/v2/rooms/${room}/request-storage-mutation`, '{}'));
}

/** @param read resolves with the status. */
async function changing(trial: Trial, read: (room: string) => Promise<number>): Promise<Company> {
  const { readers, nodes } = LIMITS.reads;
  const rooms = await largeRooms(trial, { called: 'reads', rooms: readers, nodes });
  let turn = 0;
  return asking(rooms.length, async (reader) => {
    const room = rooms[reader]!;
    turn += 1;
    const change = JSON.stringify([{ op: 'replace', path: '/counter', value: turn }]);
    const changed = await ask(trial, 'PATCH', `/v2/rooms/${room}/storage/json-patch`, change);
    return changed === 200 ? read(room) : changed;
  });
}

/** So many who ask again when they were answered; who was refused does as Retry-After says. Any other answer than these is a fault. @param work resolves with the status. */
export function asking(askers: number, work: (asker: number) => Promise<number>): Company & { readonly refused: () => number } {
  let refused = 0;
  const faults = new Set<string>();
  let isGoingOn = true;
  const goOn = async (asker: number): Promise<void> => {
    while (isGoingOn) {
      const status = await work(asker);
      if (status === 503) {
        refused += 1;
        await sleep(LIMITS.retryAfterMs * (1 + Math.random())); // not all at once
      } else if (status !== 200) faults.add(`the company was answered ${status}`);
    }
  };
  const all = eachOf(askers, askers, goOn);
  return {
    refused: () => refused,
    async stop() {
      isGoingOn = false;
      await all;
      return [...faults];
    },
  };
}
