/**
 * Fan-out over the y-websocket protocol.
 * Expected: at 50 clients at most 1.35× the relay's CPU, because the kernel's send dominates; at 200 less than the relay, once updates
 * that come within a few milliseconds share a frame.
 */
import * as Y from 'yjs';
import { type Case, targetsFor } from '../case.ts';
import { FANOUT_YJS, type Typing } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { hocuspocus } from '../servers/hocuspocus.ts';
import { rawUws } from '../servers/raw-uws.ts';
import type { Server } from '../servers/server.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import { yWebsocket } from '../servers/y-websocket.ts';
import type { Entry } from './crowd.ts';
import { type Ledger, markOf, type Reach } from './ledger.ts';
import { type Talk, talkInRoom } from './paced-room.ts';
import { ASK_FOR_ALL, isStep, STEP_2, syncFrame, UPDATE } from './sync-frames.ts';

const nameOf = ({ clients, typists, perSecond }: Typing): string => `${clients} clients, ${typists} typing ${perSecond}/s`;
const [, middle, large] = FANOUT_YJS.map(nameOf) as [string, string, string];

export const fanoutYjs: Case = {
  name: 'fanout-yjs',
  question: 'What does it cost to hand one typed update to one y-websocket client, and how long does it take?',
  unit: 'deliveries',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, yWebsocket, hocuspocus, vendorDev],
  variants: FANOUT_YJS.map((typing) => ({
    name: nameOf(typing),
    load: (trial) => talkInRoom(trial, talkOf(typing)),
  })),
  metrics: ['cpuPerMillion', 'helperCpuPerMillion', 'p50Ms', 'p99Ms', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    ...targetsFor(
      { variant: middle, metric: 'cpuPerMillion' },
      { atMost: { 'raw-uws': 1.35, 'y-websocket': 0.65, hocuspocus: 0.55, 'vendor-dev': 0.5 } },
    ),
    ...targetsFor(
      { variant: middle, metric: 'p50Ms' },
      { atMost: { 'raw-uws': 1.3, 'y-websocket': 1, hocuspocus: 0.85, 'vendor-dev': 0.5 } },
    ),
    ...targetsFor(
      { variant: large, metric: 'cpuPerMillion' },
      { atMost: { 'raw-uws': 0.8, 'y-websocket': 0.48, hocuspocus: 0.42, 'vendor-dev': 0.52 } },
    ),
    ...targetsFor(
      { variant: large, metric: 'p50Ms' },
      { atMost: { 'raw-uws': 1.3, 'y-websocket': 1, hocuspocus: 0.85, 'vendor-dev': 0.5 } },
    ),
  ],
};

/** So many who type in one room. */
export function talkOf({ clients, typists, perSecond }: Typing): Talk {
  return {
    clients,
    senders: typists,
    perSecond,
    entryFor: (ledger) => editors({ roomId: 'fanout', clients, ledger }),
    framesOf: typedFrames,
    reachOn: updatesReach,
  };
}

/** Whom a server hands an update to. */
export function updatesReach({ yjsEcho }: Server): Reach {
  return yjsEcho === 'echoed' ? 'others, echoed' : 'others';
}

/** Clients that enter like a y-websocket provider with an empty document. */
export function editors({ roomId, clients, ledger }: { roomId: string; clients: number; ledger: Ledger }): Entry {
  return {
    door: 'yjs',
    roomId,
    clients,
    hello: ASK_FOR_ALL,
    isWelcome: (frame) => isStep(STEP_2, frame),
    receive: (client, frame) => ledger.received(client, frame),
  };
}

/** The updates of one person who types marks at the end of what they typed before, made by a real document. */
export function typedFrames(typist: number, count: number): Buffer[] {
  const type = typing(typist);
  return Array.from({ length: count }, (_, number) => type(number));
}

/** The same one by one: asked in order for the `number`-th update, it types that. `sender` is the typist's number over all rooms. */
export function typing(typist: number, sender = typist): (number: number) => Buffer {
  const doc = new Y.Doc();
  doc.clientID = typist + 1; // small numbers, so that no byte of the frame looks like a mark
  const text = doc.getText('text');
  let frame: Buffer = Buffer.alloc(0);
  doc.on('update', (update) => {
    frame = syncFrame(UPDATE, update);
  });
  return (number) => {
    text.insert(text.length, markOf(sender, number));
    return frame;
  };
}
