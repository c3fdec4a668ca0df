/**
 * What becomes of a worker that has no more to give (reliability 2.f): all sockets that it takes are there, or more is written than its core can do.
 * Expected: who comes then is refused and told so, at no price to who is there; and what it has accepted it finishes: every write of the calm and of those who
 * are too much is acknowledged. Beside more work than a core can do nobody is fast.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Case, Company, Trial } from '../case.ts';
import { FULL_WORKER, LIMITS, NEIGHBOURS } from '../config.ts';
import { atriumWith } from '../servers/atrium.ts';
import { atriumClusterWith } from '../servers/atrium-cluster.ts';
import { CALM, calmVariants } from './calm-rooms.ts';
import { Crowd } from './crowd.ts';
import type { JointLedger } from './joint-ledger.ts';
import { ask } from './large-rooms.ts';
import { Ledger } from './ledger.ts';
import { eachOf } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { people } from './presence-sdk.ts';
import { startDialling } from './seat.ts';
import { WritingRooms } from './writing-rooms.ts';

const NO_SEAT = 'sockets beyond all that it takes';
const STRAINED = 'more writes than its core can do, and rooms that are woken';
/** Rooms made at a time. */
const AT_ONCE = 16;

export const fullWorker: Case = {
  name: 'full-worker',
  question: 'What do calm rooms feel when their worker is full, and whom does it refuse?',
  unit: 'deliveries',
  subjects: [atriumWith(FULL_WORKER.settings), atriumClusterWith(FULL_WORKER.settings)],
  peers: [],
  variants: calmVariants('full-worker', [
    { name: NO_SEAT, company: noSeat },
    { name: STRAINED, company: strain },
  ]),
  seconds: NEIGHBOURS.seconds,
  warmupSeconds: NEIGHBOURS.warmupSeconds,
  metrics: ['p50Ms', 'p99Ms', 'refusedPerSecond', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    { variant: NO_SEAT, metric: 'p99Ms', against: { variant: CALM }, limit: { atMost: 2 } },
    {
      variant: NO_SEAT,
      metric: 'refusedPerSecond',
      against: null,
      limit: { atLeast: FULL_WORKER.dialsPerSecond * LIMITS.refusedShareMin },
    },
    { variant: STRAINED, metric: 'refusedPerSecond', against: null, limit: { atLeast: 1 } },
    { variant: STRAINED, metric: 'completeness', against: null, limit: { atLeast: 1 } },
  ],
};

/** Takes every seat that is left, and dials on. */
async function noSeat(trial: Trial): Promise<Company> {
  const { rooms, clients } = FULL_WORKER.seats;
  const crowds: Crowd[] = [];
  for (let room = 0; room < rooms; room += 1) {
    const ledger = new Ledger({ senders: 1, clients, reach: 'others' });
    crowds.push(await Crowd.enter(trial, people({ roomId: `seats-${room}`, clients, ledger })));
  }
  const { closes, stop } = startDialling(trial, { roomId: 'seats-0', perSecond: FULL_WORKER.dialsPerSecond });
  return {
    refused: () => closes.count,
    stop() {
      stop();
      for (const crowd of crowds) crowd.leave();
      return crowds.flatMap(({ losses }) => losses);
    },
  };
}

/** Writes on and on, and wakes a room after the other. */
async function strain(trial: Trial): Promise<Company> {
  const { writing, sleeping } = FULL_WORKER;
  await eachOf(sleeping.rooms, AT_ONCE, (room) => trial.server.openRoom(trial.address, sleeper(room)));
  const rooms = await WritingRooms.make(trial, writing);
  rooms.book.open();
  const stopWriting = rooms.startWriting(writing.perSecond);
  const refusals = { count: 0 };
  const stopWaking = startPace({
    senders: sleeping.rooms,
    perSecond: sleeping.wokenPerSecond / sleeping.rooms,
    send: (room) => void wake(trial, room, refusals),
  });
  return {
    refused: () => refusals.count,
    async stop() {
      stopWaking();
      stopWriting();
      rooms.book.close();
      await heardOut(rooms.book);
      rooms.leave();
      const unheard = rooms.book.expected - rooms.book.delivered;
      return [...rooms.losses, ...(unheard > 0 ? [`${unheard} of what was said of writes was not heard`] : [])];
    },
  };
}

/** What was accepted is heard at last, however long that takes: waits as long as more comes. */
async function heardOut(book: JointLedger): Promise<void> {
  for (let before = -1; book.delivered < book.expected && book.delivered > before; ) {
    before = book.delivered;
    await sleep(FULL_WORKER.silenceMsMax);
  }
}

const sleeper = (room: number): string => `sleeping-${room}`;

/** Somebody asks for what is in it. */
async function wake(trial: Trial, room: number, refusals: { count: number }): Promise<void> {
  const status = await ask(trial, 'GET', `/v2/rooms/${sleeper(room)}/storage`).catch(() => null); // the bench is over
  if (status === 503) refusals.count += 1;
}
