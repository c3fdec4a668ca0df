/**
 * As much as goes through, in a closed loop: a typist may have a few updates under way that not everybody else in the room has yet. What
 * counts is that all have it, so no server gains by serving some before others, and none needs to echo.
 * Expected: more than a relay, because what comes in one turn leaves as one frame.
 */
import { type Case, type Outcome, type Trial, targetsFor } from '../case.ts';
import { SATURATION } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { hocuspocus } from '../servers/hocuspocus.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { yWebsocket } from '../servers/y-websocket.ts';
import { eachOf, ManyRooms } from './many-rooms.ts';
import { measure, outcomeOf, settled } from './window.ts';

const { rooms, clients, typists, underWay, madeBefore } = SATURATION;
const NAME = `${rooms} rooms, ${clients} clients in each, ${typists} typing, ${underWay} updates of each under way`;
const DIALS_MAX = 25;

export const saturation: Case = {
  name: 'saturation',
  question: 'How many deliveries a second go through one worker?',
  unit: 'deliveries',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, yWebsocket, hocuspocus],
  variants: [{ name: NAME, load: typeWithoutPause }],
  metrics: ['perSecond', 'p50Ms', 'p99Ms', 'cpuPerMillion', 'helperCpuPerMillion', 'completeness', 'loadBusy', 'othersBusy'],
  targets: targetsFor(
    { variant: NAME, metric: 'perSecond' },
    { atLeast: { 'raw-uws': 1.5, 'y-websocket': 4.5, hocuspocus: 1.5 } },
  ),
};

async function typeWithoutPause(trial: Trial): Promise<Outcome> {
  let isTyping = true;
  const missing = new Uint16Array(rooms * typists * underWay);
  const speak = (room: number, typist: number): void => {
    const number = all.speak(room, typist);
    missing[cellOf(room, typist, number)] = clients - 1;
  };
  const onOther = (room: number, typist: number, number: number): void => {
    const cell = cellOf(room, typist, number);
    missing[cell]! -= 1;
    if (missing[cell] === 0 && isTyping) speak(room, typist);
  };
  const all = await ManyRooms.make(trial, { rooms, clients, senders: typists, onOther, madeBefore });
  await eachOf(rooms * clients, DIALS_MAX, (index) => all.admit(index % rooms, Math.floor(index / rooms)));
  for (let turn = 0; turn < rooms * typists * underWay; turn += 1) speak(turn % rooms, Math.floor(turn / rooms) % typists);
  const window = await measure(trial, all);
  isTyping = false;
  await settled(all);
  all.leave();
  const { delivered, expected, othersMs, problems } = all;
  return outcomeOf({ window, count: delivered, latenciesMs: othersMs, completeness: delivered / expected, problems });
}

/** Where the number of those is kept who do not have an update yet: updates arrive everywhere in order, so the places are taken in turn. */
function cellOf(room: number, typist: number, number: number): number {
  return (room * typists + typist) * underWay + (number % underWay);
}
