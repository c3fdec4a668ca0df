/**
 * Everybody comes at once, as after another worker's restart.
 * Expected: three quarters of what a bare socket server takes in; a join answers from bytes that are there.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Case, type Outcome, type Trial, targetsFor } from '../case.ts';
import { STORM } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { hocuspocus } from '../servers/hocuspocus.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import { yWebsocket } from '../servers/y-websocket.ts';
import { reachEverybody } from './idle.ts';
import { eachOf, ManyRooms } from './many-rooms.ts';
import { measureWhile, outcomeOf } from './window.ts';

const { rooms, connections, warmConnections, dialsMax, coolMs } = STORM;
const NAME = `${connections} connections, ${dialsMax} dialled at a time`;

export const connectStorm: Case = {
  name: 'connect-storm',
  question: 'How fast do connections get in that all come at once?',
  unit: 'connections',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, yWebsocket, hocuspocus, vendorDev],
  variants: [{ name: NAME, load: comeAtOnce }],
  metrics: ['perSecond', 'p50Ms', 'p99Ms', 'cpuPerMillion', 'completeness', 'loadBusy', 'othersBusy'],
  targets: targetsFor(
    { variant: NAME, metric: 'perSecond' },
    { atLeast: { 'raw-uws': 0.75, 'y-websocket': 1.4, hocuspocus: 1.3, 'vendor-dev': 5 } },
  ),
};

/** As many come and go again first, in rooms of their own: what is measured is no cold code, neither the server's nor the load's. */
async function comeAndGo(trial: Trial): Promise<void> {
  const before = await ManyRooms.make(trial, { rooms, clients: connections / rooms, senders: 1, called: 'before' });
  await eachOf(connections, dialsMax, (index) => before.admit(index % rooms, Math.floor(index / rooms)));
  before.leave();
  await sleep(coolMs);
}

/** A connection is in when it has the document. Then somebody speaks in every room, so it is known that all are alive. */
async function comeAtOnce(trial: Trial): Promise<Outcome> {
  await comeAndGo(trial);
  const all = await ManyRooms.make(trial, { rooms, clients: (warmConnections + connections) / rooms, senders: 1 });
  const admit = (index: number): Promise<void> => all.admit(index % rooms, Math.floor(index / rooms));
  await eachOf(warmConnections, dialsMax, admit);
  const latenciesMs: number[] = [];
  const window = await measureWhile(trial, () =>
    eachOf(connections, dialsMax, async (index) => {
      const dialledAtMs = performance.now();
      await admit(warmConnections + index);
      latenciesMs.push(performance.now() - dialledAtMs);
    }),
  );
  const completeness = await reachEverybody(all, rooms);
  return outcomeOf({ window, count: connections, latenciesMs, completeness, problems: all.problems });
}
