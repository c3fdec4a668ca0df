/**
 * Presence over the SDK's protocol.
 * Expected: at most 0.6× the relay's CPU: each patch is parsed, checked and encoded once, and what comes within 10 ms leaves as one frame.
 */
import { type Case, targetsFor } from '../case.ts';
import { PRESENCE } from '../config.ts';
import { atrium } from '../servers/atrium.ts';
import { atriumCluster } from '../servers/atrium-cluster.ts';
import { rawUws } from '../servers/raw-uws.ts';
import { vendorDev } from '../servers/vendor-dev.ts';
import type { Entry } from './crowd.ts';
import { type Ledger, markOf } from './ledger.ts';
import { type Talk, talkInRoom } from './paced-room.ts';

const { clients, perSecond } = PRESENCE;
const NAME = `${clients} clients at ${perSecond} Hz`;

export const presenceSdk: Case = {
  name: 'presence-sdk',
  question: 'What does a moving cursor cost per person who sees it?',
  unit: 'deliveries',
  subjects: [atrium, atriumCluster],
  peers: [rawUws, vendorDev],
  variants: [{ name: NAME, load: (trial) => talkInRoom(trial, TALK) }],
  metrics: ['cpuPerMillion', 'p50Ms', 'p99Ms', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: targetsFor({ variant: NAME, metric: 'cpuPerMillion' }, { atMost: { 'raw-uws': 0.6, 'vendor-dev': 0.7 } }),
};

const TALK: Talk = {
  clients,
  senders: clients,
  perSecond,
  entryFor: (ledger) => people({ roomId: 'presence', clients, ledger }),
  framesOf: cursorFrames,
  reachOn: () => 'others',
};

/** Clients that enter like the SDK: they wait for ROOM_STATE, then show a full presence. */
export function people({ roomId, clients, ledger }: { roomId: string; clients: number; ledger: Ledger }): Entry {
  return {
    door: 'sdk',
    roomId,
    clients,
    hello: Buffer.from('[{"type":100,"targetActor":-1,"data":{"cursor":null}}]'),
    isWelcome: (frame) => frame.includes('"type":104'),
    receive: (client, frame) => ledger.received(client, frame),
  };
}

/** The patches of one person whose cursor moves. */
export function cursorFrames(person: number, count: number): Buffer[] {
  return Array.from({ length: count }, (_, number) => cursorFrame(person, number));
}

/** The `number`-th of them. */
export function cursorFrame(person: number, number: number): Buffer {
  return Buffer.from(
    JSON.stringify([{ type: 100, data: { cursor: { x: number % 1_920, y: number % 1_080 }, mark: markOf(person, number) } }]),
  );
}
