/** Changes of rooms in the database, told to every worker before they are acknowledged, and what follows on this one. */
import { type Clock, doneWithin } from '../base/clock.ts';
import type { RoomId } from '../base/ids.ts';
import type { Message } from '../kernel/cluster/bus.ts';
import { LEASE } from '../kernel/cluster/lease.ts';
import { Announcements, type AnnouncementsDeps } from './announcements.ts';

/** A worker that is new remembers no room for so long: others, who ask for the list of workers once in that time, may not tell it yet. */
export const UNTOLD_MS = 1_000;

/** What this process remembers of rooms as the database has them. */
export interface RememberedRooms {
  forget(roomId: RoomId): void;
  forgetAll(): void;
}

export interface RoomChangesDeps extends Omit<AnnouncementsDeps, 'kind' | 'here' | 'othersLastMs'> {
  readonly remembered: RememberedRooms;
  /** Those who are in rooms through this worker. */
  readonly sessions: { reconsider(roomId: RoomId): void; reconsiderAll(): Promise<void> };
}

export class RoomChanges {
  readonly #clock: Clock;
  readonly #ofAccesses: Announcements;
  readonly #ofOthers: Announcements;

  constructor({ remembered, sessions, ...deps }: RoomChangesDeps) {
    this.#clock = deps.clock;
    this.#ofOthers = new Announcements({
      ...deps,
      kind: 'room.changed',
      othersLastMs: UNTOLD_MS,
      here: { changed: (roomId) => remembered.forget(roomId), anyMayHaveChanged: () => remembered.forgetAll() },
    });
    this.#ofAccesses = new Announcements({
      ...deps,
      kind: 'access.changed',
      othersLastMs: 0, // whoever entered by the old ones, through a worker however new, has to go
      here: {
        changed(roomId) {
          remembered.forget(roomId);
          sessions.reconsider(roomId);
        },
        anyMayHaveChanged() {
          remembered.forgetAll();
          void sessions.reconsiderAll();
        },
      },
    });
  }

  /** Whether a message of the bus is for `handle`. */
  isFor(message: Message): boolean {
    return this.#ofAccesses.isFor(message) || this.#ofOthers.isFor(message);
  }

  handle(message: Message): null {
    return (this.#ofAccesses.isFor(message) ? this.#ofAccesses : this.#ofOthers).handle(message);
  }

  /**
   * Everybody who is in the room, on any worker, shows again what lets them in. Resolves when every worker has heard of it, or after the time in which
   * a dead one loses its lease. Never rejects. `whenTold` is called once those that can be told have been, however long that takes.
   */
  accessesChanged(roomId: RoomId, whenTold: () => void = () => undefined): Promise<void> {
    return this.#told(this.#ofAccesses, roomId, whenTold);
  }

  /** Something else of the room's row changed, or it is gone: no worker remembers it. Resolves as `accessesChanged`. */
  roomChanged(roomId: RoomId): Promise<void> {
    return this.#told(this.#ofOthers, roomId);
  }

  #told(changes: Announcements, roomId: RoomId, whenTold?: () => void): Promise<void> {
    return doneWithin(this.#clock, LEASE.lastsMs + LEASE.graceMs, changes.announce(roomId).then(whenTold));
  }
}
