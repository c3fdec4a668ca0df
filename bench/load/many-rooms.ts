/** Many rooms with light clients of y-websocket in each, and one book over all of them. */
import type { Trial } from '../case.ts';
import { Crowd } from './crowd.ts';
import { editors, typing, updatesReach } from './fanout-yjs.ts';
import { JointLedger } from './joint-ledger.ts';
import { Ledger } from './ledger.ts';

/** Rooms made at a time. */
const AT_ONCE = 25;

export interface Filling {
  readonly rooms: number;
  /** Seats in each room. */
  readonly clients: number;
  /** The first so many clients of each room speak. */
  readonly senders: number;
  /** Hears of each arrival of a message at somebody else in the room. */
  readonly onOther?: (room: number, sender: number, number: number) => void;
  /** What the rooms' names begin with. */
  readonly called?: string;
  /** Updates of each sender that are made before anybody enters; more are made as they are sent. */
  readonly madeBefore?: number;
}

interface Room {
  readonly crowd: Crowd;
  readonly ledger: Ledger;
  readonly type: readonly ((number: number) => Buffer)[];
}

export class ManyRooms {
  readonly #trial: Trial;
  readonly #called: string;
  readonly #rooms: readonly Room[];
  readonly #book: JointLedger;

  /** The rooms are not made yet. */
  constructor(trial: Trial, { rooms, clients, senders, onOther, called = 'room', madeBefore = 0 }: Filling) {
    this.#trial = trial;
    this.#called = called;
    this.#rooms = Array.from({ length: rooms }, (_, room): Room => {
      const firstSender = room * senders;
      const ledger = new Ledger({
        senders,
        clients,
        reach: updatesReach(trial.server),
        firstSender,
        ...(onOther !== undefined && { onOther: (sender, number) => onOther(room, sender, number) }),
      });
      const crowd = new Crowd(trial, editors({ roomId: this.#idOf(room), clients, ledger }));
      return {
        crowd,
        ledger,
        type: Array.from({ length: senders }, (_, index) => typist(index, firstSender + index, madeBefore)),
      };
    });
    this.#book = new JointLedger(this.#rooms.map(({ ledger }) => ledger));
  }

  /** All rooms made, nobody in them. */
  static async make(trial: Trial, filling: Filling): Promise<ManyRooms> {
    const all = new ManyRooms(trial, filling);
    await eachOf(filling.rooms, AT_ONCE, (room) => all.makeRoom(room));
    return all;
  }

  makeRoom(room: number): Promise<void> {
    return this.#trial.server.openRoom(this.#trial.address, this.#idOf(room));
  }

  #idOf(room: number): string {
    return `${this.#called}-${room}`;
  }

  /** One client enters its room. */
  admit(room: number, client: number): Promise<void> {
    return this.#rooms[room]!.crowd.admit(client);
  }

  /** The sender's next update leaves now; returns its number. */
  speak(room: number, sender: number): number {
    const { crowd, ledger, type } = this.#rooms[room]!;
    const number = ledger.sent(sender);
    crowd.send(sender, type[sender]!(number));
    return number;
  }

  open(): void {
    this.#book.open();
  }

  close(): void {
    this.#book.close();
  }

  get expected(): number {
    return this.#book.expected;
  }

  get delivered(): number {
    return this.#book.delivered;
  }

  get othersMs(): readonly number[] {
    return this.#book.othersMs;
  }

  /** Each once, the first few. */
  get problems(): string[] {
    const all = [...this.#rooms.flatMap(({ crowd }) => crowd.losses), ...this.#book.problems];
    return [...new Set(all)].slice(0, 5);
  }

  leave(): void {
    for (const { crowd } of this.#rooms) crowd.leave();
  }
}

function typist(index: number, sender: number, madeBefore: number): (number: number) => Buffer {
  const type = typing(index, sender);
  const made = Array.from({ length: madeBefore }, (_, number) => type(number));
  return (number) => made[number] ?? type(number);
}

/** Work for each number below `count`, so much of it at a time. @throws the first Error of any. */
export async function eachOf(count: number, atOnce: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const workNext = async (): Promise<void> => {
    while (next < count) {
      next += 1;
      await work(next - 1);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, count) }, workNext));
}
