/**
 * Connections that do nothing.
 * Expected: twice what the socket itself costs; no timer and no emitter for each.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Case, type Outcome, type Trial, targetsFor } from '../case.ts';
import { IDLE } from '../config.ts';
import { settledKb } from '../memory.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { hocuspocus } from '../servers/hocuspocus.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import { yWebsocket } from '../servers/y-websocket.ts';
import { eachOf, ManyRooms } from './many-rooms.ts';
import { settled } from './window.ts';

const { rooms, connections, warmConnections } = IDLE;
const NAME = `${rooms * connections} connections in ${rooms} rooms`;
const DIALS_MAX = 25;
/** Between the words that are said to find out who is there. */
const PAUSE_MS = 20;

export const idle: Case = {
  name: 'idle',
  question: 'What does a connection cost that does nothing?',
  unit: 'connections',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, yWebsocket, hocuspocus, vendorDev],
  variants: [{ name: NAME, load: holdStill }],
  metrics: ['kbPerConnection', 'completeness'],
  targets: [
    ...targetsFor(
      { variant: NAME, metric: 'kbPerConnection' },
      { atMost: { 'raw-uws': 2, 'y-websocket': 0.35, hocuspocus: 0.13, 'vendor-dev': 0.34 } },
    ),
    { variant: NAME, metric: 'kbPerConnection', against: null, limit: { atMost: 4.3 } },
  ],
};

/** Memory before and after. Then somebody speaks in every room, so it is known that all connections are alive. */
async function holdStill(trial: Trial): Promise<Outcome> {
  const all = await ManyRooms.make(trial, { rooms, clients: warmConnections + connections, senders: 1 });
  const admit = (index: number): Promise<void> => all.admit(index % rooms, Math.floor(index / rooms));
  await eachOf(rooms * warmConnections, DIALS_MAX, admit);
  const beforeKb = await settledKb(trial);
  await eachOf(rooms * connections, DIALS_MAX, (index) => admit(rooms * warmConnections + index));
  const kbPerConnection = ((await settledKb(trial)) - beforeKb) / (rooms * connections);
  const completeness = await reachEverybody(all, rooms);
  return { values: { kbPerConnection, completeness }, problems: all.problems };
}

/** The first client of each room says one word, and everybody leaves. Resolves with the share that heard it. */
export async function reachEverybody(all: ManyRooms, roomCount: number): Promise<number> {
  all.open();
  for (let room = 0; room < roomCount; room += 1) {
    all.speak(room, 0);
    await sleep(PAUSE_MS);
  }
  all.close();
  await settled(all);
  all.leave();
  return all.delivered / all.expected;
}
