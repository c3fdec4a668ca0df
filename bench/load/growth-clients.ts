/**
 * Curve: clients in one room, about as many deliveries a second at every point.
 * Expected: CPU per delivery falls with the audience and then stays: what an update costs by itself is shared by all who hear it, the rest is the
 * kernel's send.
 */
import type { Case, Outcome, Trial } from '../case.ts';
import { GROWTH } from '../config.ts';
import { atriumWith } from '../servers/atrium.ts';
import { editors, typedFrames, updatesReach } from './fanout-yjs.ts';
import { talkInRoom } from './paced-room.ts';

const TYPISTS = 2;
const nameOf = (clients: number): string => `${clients.toLocaleString('en')} clients`;
const [FEWEST, MOST] = [nameOf(GROWTH.clients[0]), nameOf(GROWTH.clients.at(-1)!)];

export const growthClients: Case = {
  name: 'growth-clients',
  question: 'What does a delivery cost, and how long does it take, when the room grows?',
  unit: 'deliveries',
  grows: 'clients in the room',
  subjects: [atriumWith({ CONNECTIONS_PER_ROOM_MAX: '20000', IDLE_CONNECTION_SECONDS: '3600' })],
  peers: [],
  variants: GROWTH.clients.map((clients) => ({ name: nameOf(clients), at: clients, load: (trial) => talk(trial, clients) })),
  metrics: ['cpuPerMillion', 'p50Ms', 'p99Ms', 'perSecond', 'completeness', 'loadBusy', 'othersBusy'],
  targets: [{ variant: MOST, metric: 'cpuPerMillion', against: { variant: FEWEST }, limit: { atMost: 0.5 } }],
};

function talk(trial: Trial, clients: number): Promise<Outcome> {
  const { least, most } = GROWTH.clientsUpdates;
  const updates = Math.min(most, Math.max(least, Math.round(GROWTH.clientsDeliveries / (clients - 1))));
  return talkInRoom(trial, {
    clients,
    senders: TYPISTS,
    perSecond: updates / TYPISTS,
    entryFor: (ledger) => editors({ roomId: 'growth', clients, ledger }),
    reachOn: updatesReach,
    framesOf: (typist, count) => typedFrames(typist, Math.ceil(count)),
  });
}
