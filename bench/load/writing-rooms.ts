/** Rooms in whose Storage people write at a steady rate, each waiting for nobody. */
import { Crowd } from './crowd.ts';
import { JointLedger } from './joint-ledger.ts';
import { Ledger } from './ledger.ts';
import type { Place } from './line.ts';
import { eachOf } from './many-rooms.ts';
import { startPace } from './pace.ts';
import { actorIn, opFrame, writers } from './storage-ops.ts';

/** Rooms that are opened and entered at a time. */
const ROOMS_AT_ONCE = 16;

interface Room {
  readonly ledger: Ledger;
  readonly crowd: Crowd;
  readonly actors: readonly number[];
}

interface Shape {
  readonly rooms: number;
  /** In each of them. */
  readonly clients: number;
}

export class WritingRooms {
  /** What all of them have written, and what they have heard of it. */
  readonly book: JointLedger;
  readonly #rooms: readonly Room[];
  readonly #clients: number;

  constructor(rooms: readonly Room[], clients: number) {
    this.#rooms = rooms;
    this.#clients = clients;
    this.book = new JointLedger(rooms.map(({ ledger }) => ledger));
  }

  /** Makes and enters them. @throws an Error when somebody does not get in */
  static async make(place: Place, { rooms, clients }: Shape): Promise<WritingRooms> {
    const entered: Room[] = [];
    await eachOf(rooms, ROOMS_AT_ONCE, async (index) => {
      const ledger = new Ledger({ senders: clients, clients, reach: 'all' });
      const crowd = await Crowd.enter(place, writers({ roomId: `writing-${index}`, clients, ledger }));
      entered.push({ ledger, crowd, actors: crowd.welcomes.map(actorIn) });
    });
    return new WritingRooms(entered, clients);
  }

  /** Begins now; the returned function ends it. @param perSecond of each client */
  startWriting(perSecond: number): () => void {
    const rooms = this.#rooms;
    return startPace({
      senders: rooms.length * this.#clients,
      perSecond,
      // Neighbours in time are of different rooms, as they would be by chance.
      send(turn) {
        const { ledger, crowd, actors } = rooms[turn % rooms.length]!;
        const client = Math.floor(turn / rooms.length);
        crowd.send(client, opFrame({ actor: actors[client]!, client, number: ledger.sent(client) }));
      },
    });
  }

  /** Sockets that the server closed, in words. */
  get losses(): string[] {
    return this.#rooms.flatMap(({ crowd }) => crowd.losses);
  }

  leave(): void {
    for (const { crowd } of this.#rooms) crowd.leave();
  }
}
