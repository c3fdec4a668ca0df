/**
 * Presence over the y-websocket protocol: awareness.
 * Expected: at most 0.6× the CPU of a relay, and of servers that decode each state and encode it again: ours goes on as it came, with all of the same 10 ms.
 */
import * as encoding from 'lib0/encoding';
import { type Case, targetsFor } from '../case.ts';
import { PRESENCE } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { hocuspocus } from '../servers/hocuspocus.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { yWebsocket } from '../servers/y-websocket.ts';
import { editors } from './fanout-yjs.ts';
import { markOf } from './ledger.ts';
import { type Talk, talkInRoom } from './paced-room.ts';

const AWARENESS = 1;
const { clients, perSecond } = PRESENCE;
const NAME = `${clients} clients at ${perSecond} Hz`;

export const presenceYjs: Case = {
  name: 'presence-yjs',
  question: 'What does a moving cursor cost per y-websocket client who sees it?',
  unit: 'deliveries',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, yWebsocket, hocuspocus],
  variants: [{ name: NAME, load: (trial) => talkInRoom(trial, TALK) }],
  metrics: ['cpuPerMillion', 'p50Ms', 'p99Ms', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: targetsFor(
    { variant: NAME, metric: 'cpuPerMillion' },
    { atMost: { 'raw-uws': 0.6, 'y-websocket': 0.6, hocuspocus: 0.5 } },
  ),
};

const TALK: Talk = {
  clients,
  senders: clients,
  perSecond,
  reachOn: () => 'others, echoed', // a client of y-websocket waits for its own state as a sign of life; a relay may leave it out
  gaps: 'filled by newer',
  entryFor: (ledger) => editors({ roomId: 'awareness', clients, ledger }),
  framesOf: (person, count) => Array.from({ length: count }, (_, number) => awarenessFrame(person, number)),
};

/** The whole state of one person whose cursor moves, as awareness has it. */
export function awarenessFrame(person: number, number: number): Buffer {
  const state = { cursor: { x: number % 1_920, y: number % 1_080 }, mark: markOf(person, number) };
  const update = encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, 1); // one person
    encoding.writeVarUint(encoder, person + 1); // as this client of Yjs
    encoding.writeVarUint(encoder, number + 1); // newer than the last
    encoding.writeVarString(encoder, JSON.stringify(state));
  });
  const frame = encoding.encode((encoder) => {
    encoding.writeVarUint(encoder, AWARENESS);
    encoding.writeVarUint8Array(encoder, update);
  });
  return Buffer.from(frame);
}
