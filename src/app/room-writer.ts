/**
 * Rooms made and changed, many in one commit: whoever asks while one is under way shares the next. Changes of one room that come together are made one
 * after the other in memory, each answered with the room as it left it, and written once.
 */
import type { RoomId } from '../base/ids.ts';
import {
  changeRoom,
  type Found,
  findOrCreateRooms,
  findStampedRooms,
  type NewRoom,
  type RoomRow,
  type StampedRoom,
  saveUnlessWrittenTo,
} from '../features/rooms/queries.ts';
import type { RoomWrites } from '../features/rooms/routes.ts';
import type { RoomFields } from '../features/rooms/shapes.ts';
import { Gathered } from '../kernel/persistence/gathered.ts';
import type { Sql } from '../kernel/persistence/sql.ts';

interface RoomWriterDeps {
  readonly db: Sql;
  /** Written with the rooms that are made, in their transaction. */
  readonly whenMade: (tx: Sql, rooms: readonly RoomRow[]) => Promise<void>;
}

interface Wanted {
  readonly roomId: RoomId;
  readonly change: (room: RoomRow) => RoomFields;
}

/** What came of one change: the room, null when there is none, or what `change` threw. */
type Outcome = { readonly room: RoomRow | null } | { readonly error: unknown };

const AT_ONCE = { itemsMax: 200, waitingMax: 10_000 };

export class RoomWriter implements RoomWrites {
  readonly #deps: RoomWriterDeps;
  readonly #changes = new Gathered<Wanted, Outcome>({ ...AT_ONCE, work: (wanted) => this.#changeAll(wanted) });
  readonly #makings = new Gathered<NewRoom, Found>({ ...AT_ONCE, work: (rooms) => this.#makeAll(rooms) });

  constructor(deps: RoomWriterDeps) {
    this.#deps = deps;
  }

  make(db: Sql, room: NewRoom): Promise<Found> {
    return db === this.#deps.db ? this.#makings.ask(room) : this.#makeIn(db, [room]).then(([found]) => found!);
  }

  async change(db: Sql, roomId: RoomId, change: Wanted['change']): Promise<RoomRow | null> {
    if (db !== this.#deps.db) return changeRoom(db, roomId, change);
    const outcome = await this.#changes.ask({ roomId, change });
    if ('error' in outcome) throw outcome.error;
    return outcome.room;
  }

  async #makeAll(rooms: readonly NewRoom[]): Promise<Found[]> {
    const first = new Map<RoomId, NewRoom>();
    for (const room of rooms) if (!first.has(room.id)) first.set(room.id, room);
    const found = await this.#makeIn(this.#deps.db, [...first.values()]);
    const foundById = new Map(found.map((one) => [one.room.id, one]));
    return rooms.map((room) => {
      const { room: row, isNew } = foundById.get(room.id)!;
      return { room: row, isNew: isNew && first.get(room.id) === room };
    });
  }

  #makeIn(db: Sql, rooms: readonly NewRoom[]): Promise<Found[]> {
    return db.transaction(async (tx) => {
      const found = await findOrCreateRooms(tx, rooms);
      const made = found.filter(({ isNew }) => isNew).map(({ room }) => room);
      if (made.length > 0) await this.#deps.whenMade(tx, made);
      return found;
    });
  }

  async #changeAll(wanted: readonly Wanted[]): Promise<Outcome[]> {
    const { db } = this.#deps;
    const seen = await findStampedRooms(db, [...new Set(wanted.map(({ roomId }) => roomId))]);
    const drafts = new Map<RoomId, StampedRoom>(seen.map((room) => [room.id, room]));
    const outcomes = wanted.map(({ roomId, change }): Outcome => {
      const before = drafts.get(roomId);
      if (before === undefined) return { room: null };
      try {
        const after = { ...before, ...change(before) };
        drafts.set(roomId, after);
        return { room: after };
      } catch (error) {
        return { error };
      }
    });
    const changed = [...drafts.values()].filter((draft) => !seen.includes(draft));
    const saved = changed.length === 0 ? new Set() : await saveUnlessWrittenTo(db, changed);
    const lost = new Set(changed.filter(({ pk }) => !saved.has(pk)).map(({ id }) => id));
    const settled: Outcome[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const one = wanted[index]!;
      settled.push(lost.has(one.roomId) ? await this.#changeAlone(one) : outcome);
    }
    return settled;
  }

  /** Somebody else wrote to the room meanwhile, or holds it: then only those who want this one room wait for it, or are refused. */
  async #changeAlone({ roomId, change }: Wanted): Promise<Outcome> {
    try {
      return { room: await changeRoom(this.#deps.db, roomId, change) };
    } catch (error) {
      return { error };
    }
  }
}
