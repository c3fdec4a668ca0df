/**
 * Many small rooms in which little happens.
 * Expected: below the servers that keep a `Y.Doc` with its own handlers and timers for every room; a room here is plain fields and bytes.
 */
import { type Case, type Outcome, type Trial, targetsFor } from '../case.ts';
import { FANOUT_YJS, MANY_ROOMS, WRITES_WARMUP_SECONDS } from '../config.ts';
import { settledKb } from '../memory.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { hocuspocus } from '../servers/hocuspocus.ts';
import { rawUws, rawUwsWithCommits, rawUwsWithRooms } from '../servers/raw-uws.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import { yWebsocket } from '../servers/y-websocket.ts';
import { talkOf } from './fanout-yjs.ts';
import { eachOf, ManyRooms } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { heat } from './paced-room.ts';
import { measure, outcomeOf, settled } from './window.ts';

const { rooms, clients, perSecond, warmRooms } = MANY_ROOMS;
const NAME = `${rooms} rooms, ${clients} clients in each, ${perSecond}/s from each client`;
const ENTERING_ROOMS = 12;

export const rooms1000: Case = {
  name: 'rooms-1000',
  question: 'What do many small rooms cost, in time and in memory?',
  unit: 'deliveries',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, rawUwsWithCommits, rawUwsWithRooms, yWebsocket, hocuspocus, vendorDev],
  variants: [{ name: NAME, load: talkInAll }],
  warmupSeconds: WRITES_WARMUP_SECONDS,
  metrics: [
    'cpuPerMillion',
    'helperCpuPerMillion',
    'kbPerRoom',
    'p50Ms',
    'p99Ms',
    'perSecond',
    'completeness',
    'loadBusy',
    'othersBusy',
  ],
  targets: [
    ...targetsFor(
      { variant: NAME, metric: 'cpuPerMillion' },
      { atMost: { 'raw-uws': 1.8, 'y-websocket': 0.6, hocuspocus: 0.32, 'vendor-dev': 0.2 } },
    ),
    ...targetsFor(
      { variant: NAME, metric: 'kbPerRoom' },
      { atMost: { 'raw-uws': 3, 'y-websocket': 0.42, hocuspocus: 0.17, 'vendor-dev': 0.055 } },
    ),
    { variant: NAME, metric: 'kbPerRoom', against: null, limit: { atMost: 15 } },
  ],
};

async function talkInAll(trial: Trial): Promise<Outcome> {
  const all = new ManyRooms(trial, { rooms: warmRooms + rooms, clients, senders: clients });
  const enter = async (room: number): Promise<void> => {
    await all.makeRoom(room);
    for (let client = 0; client < clients; client += 1) await all.admit(room, client);
  };
  await eachOf(warmRooms, ENTERING_ROOMS, enter);
  const beforeKb = await settledKb(trial);
  await eachOf(rooms, ENTERING_ROOMS, (room) => enter(warmRooms + room));
  const kbPerRoom = ((await settledKb(trial)) - beforeKb) / rooms;
  await heat(trial, talkOf(FANOUT_YJS[0]!)); // memory is read before: what it leaves behind would be taken for that of rooms, or hide it
  const stopTalking = startPace({
    senders: rooms * clients,
    perSecond,
    send: (turn) => all.speak(warmRooms + (turn % rooms), Math.floor(turn / rooms)), // neighbours in time are in different rooms
  });
  const window = await measure(trial, all);
  stopTalking();
  await settled(all);
  all.leave();
  const { delivered, expected, othersMs, problems } = all;
  const completeness = delivered / expected;
  const { values, problems: found } = outcomeOf({ window, count: delivered, latenciesMs: othersMs, completeness, problems });
  return { values: { ...values, kbPerRoom }, problems: found };
}
