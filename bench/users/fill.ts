/** Fills rooms with light clients of `load/` and lets them speak in turn; what arrives goes into a tally. */
import { Crowd, type Entry } from '../load/crowd.ts';
import { editors, typing } from '../load/fanout-yjs.ts';
import { Ledger } from '../load/ledger.ts';
import { cursorFrame, people } from '../load/presence-sdk.ts';
import { actorIn, opFrame, writers } from '../load/storage-ops.ts';
import type { RunningServer } from '../servers/running.ts';
import type { Plan, Work } from './plan.ts';
import type { Tally } from './tally.ts';

/** Rooms that are opened and entered at a time. */
const ROOMS_AT_ONCE = 8;

export interface FilledRoom {
  readonly id: string;
  readonly ledger: Ledger;
  readonly crowd: Crowd;
  /** The next message of a client leaves now. */
  speak(client: number): void;
}

interface Fill {
  readonly plan: Plan;
  readonly server: RunningServer;
  readonly tally: Tally;
  /** Begins the ids of the rooms. */
  readonly prefix: string;
  /** Told after each room. */
  readonly onFilled: (rooms: readonly FilledRoom[]) => void;
  readonly isOver: () => boolean;
}

/** All rooms, each with all its clients in it. What was filled before a failure is told by `onFilled`. @throws an Error when somebody does not get in. */
export async function fillRooms({ plan, server, tally, prefix, onFilled, isOver }: Fill): Promise<FilledRoom[]> {
  const rooms: FilledRoom[] = [];
  let next = 0;
  const fillNext = async (): Promise<void> => {
    while (next < plan.rooms && !isOver()) {
      next += 1;
      rooms.push(await fillRoom(`${prefix}-${next}`, { plan, server, tally }));
      onFilled(rooms);
    }
  };
  await Promise.all(Array.from({ length: ROOMS_AT_ONCE }, fillNext));
  return rooms;
}

async function fillRoom(id: string, { plan, server, tally }: Pick<Fill, 'plan' | 'server' | 'tally'>): Promise<FilledRoom> {
  const { clients, work } = plan;
  const reach = work === 'storage' ? 'all' : 'others';
  const ledger = new Ledger({ senders: clients, clients, reach, onTime: (whose, ms) => tally.add(whose, ms) });
  const crowd = await Crowd.enter(doorOf(server), entryOf(work, { roomId: id, clients, ledger }));
  const frameOf = framesOf(work, crowd);
  return { id, ledger, crowd, speak: (client) => crowd.send(client, frameOf(client, ledger.sent(client))) };
}

const NOWHERE = { port: 0, pid: 0 };

/** `Crowd` was made for servers of a bench, which are known by their port. */
function doorOf(server: RunningServer): Parameters<typeof Crowd.enter>[0] {
  return {
    address: NOWHERE,
    server: {
      name: 'running',
      start: () => Promise.reject(new Error('it runs already')),
      openRoom: (_, roomId) => server.openRoom(roomId),
      url: (_, door, roomId) => server.url(door, roomId),
    },
  };
}

function entryOf(work: Work, room: { roomId: string; clients: number; ledger: Ledger }): Entry {
  return work === 'storage' ? writers(room) : work === 'presence' ? people(room) : editors(room);
}

function framesOf(work: Work, crowd: Crowd): (client: number, number: number) => Buffer {
  if (work === 'presence') return cursorFrame;
  if (work === 'storage') {
    const actors = crowd.welcomes.map(actorIn);
    return (client, number) => opFrame({ actor: actors[client]!, client, number });
  }
  const typists = crowd.welcomes.map((_, client) => typing(client));
  return (client, number) => typists[client]!(number);
}
