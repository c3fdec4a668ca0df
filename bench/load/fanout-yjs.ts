/**
 * Fan-out over the y-websocket protocol.
 * Expected: at 50 clients at most 1.35× the relay's CPU, because the kernel's send dominates; at 200 less than the relay, once updates
 * that come within a few milliseconds share a frame.
 */
import * as Y from 'yjs';
import type { Case } from '../case.ts';
import { FANOUT_YJS, type Typing } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { rawUws } from '../servers/raw-uws.ts';
import type { Entry } from './crowd.ts';
import { type Ledger, markOf } from './ledger.ts';
import { type Talk, talkInRoom } from './paced-room.ts';
import { ASK_FOR_ALL, isStep, STEP_2, syncFrame, UPDATE } from './sync-frames.ts';

const nameOf = ({ clients, typists, perSecond }: Typing): string => `${clients} clients, ${typists} typing ${perSecond}/s`;

export const fanoutYjs: Case = {
  name: 'fanout-yjs',
  question: 'What does it cost to hand one typed update to one y-websocket client, and how long does it take?',
  unit: 'deliveries',
  servers: [atrium, rawUws],
  variants: FANOUT_YJS.map((typing) => ({ name: nameOf(typing), load: (trial) => talkInRoom(trial, talkOf(typing)) })),
  metrics: ['cpuPerMillion', 'helperCpuPerMillion', 'p50Ms', 'p99Ms', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [
    { variant: nameOf(FANOUT_YJS[1]!), metric: 'cpuPerMillion', against: 'raw-uws', limit: { atMost: 1.35 } },
    { variant: nameOf(FANOUT_YJS[1]!), metric: 'p50Ms', against: 'raw-uws', limit: { atMost: 1.3 } },
    { variant: nameOf(FANOUT_YJS[2]!), metric: 'cpuPerMillion', against: 'raw-uws', limit: { atMost: 0.8 } },
    { variant: nameOf(FANOUT_YJS[2]!), metric: 'p50Ms', against: 'raw-uws', limit: { atMost: 1.3 } },
  ],
};

function talkOf({ clients, typists, perSecond }: Typing): Talk {
  return {
    clients,
    senders: typists,
    perSecond,
    entryFor: (ledger) => editors({ roomId: 'fanout', clients, ledger }),
    framesOf: typedFrames,
  };
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

/** The same one by one: asked in order for the `number`-th update, it types that. */
export function typing(typist: number): (number: number) => Buffer {
  const doc = new Y.Doc();
  doc.clientID = typist + 1; // small numbers, so that no byte of the frame looks like a mark
  const text = doc.getText('text');
  let frame: Buffer = Buffer.alloc(0);
  doc.on('update', (update) => {
    frame = syncFrame(UPDATE, update);
  });
  return (number) => {
    text.insert(text.length, markOf(typist, number));
    return frame;
  };
}
