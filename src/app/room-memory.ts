/**
 * Rooms as the database has them, remembered for a moment: most requests begin with the same question.
 *
 * Whoever changes a room has every worker forget it before the change is acknowledged (`room/room-changes.ts`), so nobody reads what was there before a
 * change that was. A worker that may have missed such a word has another standing, or none, and then remembers nothing; nor in the first second of a
 * standing, in which others may not know of it yet. What is not announced, the time of the last visit, may be a second old.
 */
import type { Clock } from '../base/clock.ts';
import type { Incarnation, RoomId } from '../base/ids.ts';
import { putNewest } from '../base/newest.ts';
import { type RememberedRooms, UNTOLD_MS } from '../room/room-changes.ts';

interface RoomMemoryDeps<Room> {
  readonly clock: Clock;
  /** Another one whenever something may have been missed; null while something may be. */
  readonly standing: () => Incarnation | null;
  readonly find: (roomId: RoomId) => Promise<Room | null>;
}

interface Remembered<Room> {
  readonly room: Room;
  readonly untilMs: number;
}

const LASTS_MS = 1_000;
const ROOMS_MAX = 10_000;

export class RoomMemory<Room> implements RememberedRooms {
  readonly #deps: RoomMemoryDeps<Room>;
  /** Oldest first. */
  readonly #rooms = new Map<RoomId, Remembered<Room>>();
  /** Questions under way, whose answers may be shared and kept as long as they stand here. */
  readonly #asked = new Map<RoomId, Promise<Room | null>>();
  #standing: Incarnation | null = null;
  #remembersFromMs = 0;

  constructor(deps: RoomMemoryDeps<Room>) {
    this.#deps = deps;
  }

  /** Null when there is no such room. @throws AppError DATABASE_UNAVAILABLE */
  async find(roomId: RoomId): Promise<Room | null> {
    const nowMs = this.#deps.clock.monotonicMs();
    const standing = this.#deps.standing();
    if (standing !== this.#standing) this.#begin(standing, nowMs);
    if (standing === null || nowMs < this.#remembersFromMs) return this.#deps.find(roomId);
    const known = this.#rooms.get(roomId);
    if (known !== undefined && known.untilMs > nowMs) return known.room;
    const asked = this.#asked.get(roomId);
    if (asked === undefined) return this.#ask(roomId);
    return (await asked) ?? this.#deps.find(roomId); // nobody announces a new room: the question may have been answered before it was made
  }

  forget(roomId: RoomId): void {
    this.#rooms.delete(roomId);
    this.#asked.delete(roomId);
  }

  forgetAll(): void {
    this.#rooms.clear();
    this.#asked.clear();
  }

  #begin(standing: Incarnation | null, nowMs: number): void {
    this.forgetAll();
    this.#standing = standing;
    this.#remembersFromMs = nowMs + UNTOLD_MS;
  }

  #ask(roomId: RoomId): Promise<Room | null> {
    const untilMs = this.#deps.clock.monotonicMs() + LASTS_MS; // it may be as old as the question
    const asked = this.#deps.find(roomId);
    this.#asked.set(roomId, asked);
    const isCurrent = (): boolean => this.#asked.get(roomId) === asked;
    asked.then(
      (room) => {
        if (!isCurrent()) return;
        this.#asked.delete(roomId);
        if (room !== null) this.#keep(roomId, { room, untilMs });
      },
      () => {
        if (isCurrent()) this.#asked.delete(roomId);
      },
    );
    return asked;
  }

  #keep(roomId: RoomId, remembered: Remembered<Room>): void {
    putNewest(this.#rooms, roomId, remembered, ROOMS_MAX);
  }
}
