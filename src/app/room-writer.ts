/**
 * Rooms made and changed, many in one commit: whoever asks while one is under way shares the next. Changes of one room that come together are made one
 * after the other in memory, each answered with the room as it left it, and written once.
 */
import type { Clock } from '../base/clock.ts';
import type { RoomId } from '../base/ids.ts';
import { PassingMap } from '../base/passing.ts';
import {
  type ChangedRoom,
  changeRoom,
  type Found,
  findOrCreateRoom,
  findOrCreateRooms,
  findStampedRooms,
  type NewRoom,
  type RoomRow,
  type Saved,
  type StampedRoom,
  saveUnlessWrittenTo,
} from '../features/rooms/queries.ts';
import type { RoomWrites } from '../features/rooms/routes.ts';
import type { RoomFields } from '../features/rooms/shapes.ts';
import { CommitDelay } from '../kernel/persistence/commit-delay.ts';
import { Gathered } from '../kernel/persistence/gathered.ts';
import type { Sql } from '../kernel/persistence/sql.ts';

interface RoomWriterDeps {
  readonly db: Sql;
  readonly clock: Clock;
}

interface Wanted {
  readonly roomId: RoomId;
  readonly change: (room: RoomRow) => RoomFields;
}

/** What came of one change: the room, null when there is none, or what `change` threw. */
type Outcome<Room = ChangedRoom> = { readonly room: Room | null } | { readonly error: unknown };

const AT_ONCE = { itemsMax: 200, waitingMax: 10_000 };
/** Rooms as this writer left them last, to be changed again without being read: the stamp tells if somebody else has written to one meanwhile. */
const LEFT_MAX = 1_000;
const LEFT_MS = 60_000;

export class RoomWriter implements RoomWrites {
  readonly #deps: RoomWriterDeps;
  readonly #changes: Gathered<Wanted, Outcome>;
  readonly #makings: Gathered<NewRoom, Found>;
  /** Oldest first. */
  readonly #left = new PassingMap<RoomId, { readonly room: StampedRoom; readonly untilMs: number }>();

  constructor(deps: RoomWriterDeps) {
    this.#deps = deps;
    const { clock } = deps;
    const atOnce = { ...AT_ONCE, delay: (begin: () => void) => new CommitDelay({ clock, begin }) };
    this.#changes = new Gathered({ ...atOnce, work: (wanted) => this.#changeAll(wanted) });
    this.#makings = new Gathered({ ...atOnce, work: (rooms) => this.#makeAll(rooms) });
  }

  make(db: Sql, room: NewRoom): Promise<Found> {
    return db === this.#deps.db ? this.#makings.ask(room) : findOrCreateRoom(db, room);
  }

  async change(db: Sql, roomId: RoomId, change: Wanted['change']): Promise<ChangedRoom | null> {
    if (db !== this.#deps.db) return changeRoom(db, roomId, change);
    const outcome = await this.#changes.ask({ roomId, change });
    if ('error' in outcome) throw outcome.error;
    return outcome.room;
  }

  async #makeAll(rooms: readonly NewRoom[]): Promise<Found[]> {
    const first = new Map<RoomId, NewRoom>();
    for (const room of rooms) if (!first.has(room.id)) first.set(room.id, room);
    const found = await findOrCreateRooms(this.#deps.db, [...first.values()]);
    const foundById = new Map(found.map((one) => [one.room.id, one]));
    return rooms.map((room) => {
      const { room: row, isNew } = foundById.get(room.id)!;
      return { room: row, isNew: isNew && first.get(room.id) === room };
    });
  }

  async #changeAll(wanted: readonly Wanted[]): Promise<Outcome[]> {
    const ids = [...new Set(wanted.map(({ roomId }) => roomId))];
    const left = this.#takeLeft(ids);
    const rooms = new Map([...left, ...(await this.#read(ids.filter((id) => !left.has(id))))]);
    let { drafts, outcomes, refused } = applied(wanted, rooms);
    const doubted = [...refused].filter((id) => left.has(id)); // by what a room was; what it is may let the change pass
    if (doubted.length > 0) {
      for (const id of doubted) rooms.delete(id);
      ({ drafts, outcomes } = applied(wanted, new Map([...rooms, ...(await this.#read(doubted))])));
    }
    const saved = await this.#save([...drafts.values()]);
    const settled: Outcome[] = [];
    for (const [index, outcome] of outcomes.entries()) {
      const one = wanted[index]!;
      const isLost = drafts.has(one.roomId) && !saved.has(one.roomId);
      settled.push(isLost ? await this.#changeAlone(one) : withEvent(outcome, saved.get(one.roomId)));
    }
    return settled;
  }

  /** Returns those that were saved: to the others somebody else has written meanwhile, or holds them. */
  async #save(rooms: readonly StampedRoom[]): Promise<Map<RoomId, Saved>> {
    const saved = rooms.length === 0 ? null : await saveUnlessWrittenTo(this.#deps.db, rooms);
    const byId = new Map<RoomId, Saved>();
    for (const room of rooms) {
      const one = saved?.get(room.pk);
      if (one === undefined) continue;
      byId.set(room.id, one);
      this.#leave({ ...room, stamp: one.stamp });
    }
    return byId;
  }

  async #read(roomIds: readonly RoomId[]): Promise<Map<RoomId, StampedRoom>> {
    if (roomIds.length === 0) return new Map();
    return new Map((await findStampedRooms(this.#deps.db, roomIds)).map((room) => [room.id, room]));
  }

  #takeLeft(roomIds: readonly RoomId[]): Map<RoomId, StampedRoom> {
    const rooms = new Map<RoomId, StampedRoom>();
    for (const id of roomIds) {
      const left = this.#left.get(id);
      if (left !== undefined && left.untilMs > this.#deps.clock.monotonicMs()) rooms.set(id, left.room);
      this.#left.delete(id);
    }
    return rooms;
  }

  #leave(room: StampedRoom): void {
    this.#left.set(room.id, { room, untilMs: this.#deps.clock.monotonicMs() + LEFT_MS });
    if (this.#left.size > LEFT_MAX) this.#left.delete(this.#left.first()![0]);
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

function withEvent(outcome: Outcome<RoomRow>, saved: Saved | undefined): Outcome {
  if ('error' in outcome) return outcome;
  return { room: outcome.room && { ...outcome.room, accessEvent: saved?.accessEvent ?? null } };
}

interface Applied {
  /** Rooms that are to be saved. */
  readonly drafts: ReadonlyMap<RoomId, StampedRoom>;
  readonly outcomes: readonly Outcome<RoomRow>[];
  /** Rooms of which a change threw. */
  readonly refused: ReadonlySet<RoomId>;
}

/** The changes one after the other. */
function applied(wanted: readonly Wanted[], rooms: ReadonlyMap<RoomId, StampedRoom>): Applied {
  const drafts = new Map<RoomId, StampedRoom>();
  const refused = new Set<RoomId>();
  const outcomes = wanted.map(({ roomId, change }): Outcome<RoomRow> => {
    const before = drafts.get(roomId) ?? rooms.get(roomId);
    if (before === undefined) return { room: null };
    try {
      const after = { ...before, ...change(before) };
      drafts.set(roomId, after);
      return { room: after };
    } catch (error) {
      refused.add(roomId);
      return { error };
    }
  });
  return { drafts, outcomes, refused };
}
