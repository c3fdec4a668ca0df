/**
 * Changes of the accesses of rooms, told until every worker has heard, whichever ends meanwhile: each has an event in the outbox, written with it, which is
 * removed when all have been told, and else comes due for another worker.
 */
import type { RoomId } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import { ACCESSES_CHANGED, keepTellingOfAccesses } from '../features/rooms/queries.ts';
import type { SqlOutbox } from '../kernel/persistence/sql-outbox.ts';
import type { RoomChanges } from '../room/room-changes.ts';

export interface AccessChangesDeps {
  /** Not started yet. */
  readonly outbox: Pick<SqlOutbox, 'consume' | 'remove'>;
  readonly changes: Pick<RoomChanges, 'accessesChanged'>;
  readonly log: Log;
}

export class AccessChanges {
  readonly #deps: AccessChangesDeps;
  /** Events of which all have been told. */
  #done: number[] = [];
  #isRemoving = false;

  constructor(deps: AccessChangesDeps) {
    this.#deps = deps;
    deps.outbox.consume(ACCESSES_CHANGED, async (events, tx) => {
      const kept = await keepTellingOfAccesses(tx, events);
      return () => {
        for (const { id, roomId } of kept) void this.tell(roomId, id);
      };
    });
  }

  /** Resolves as `RoomChanges.accessesChanged`. `event` is null where the accesses are as they were. Never rejects. */
  tell(roomId: RoomId, event: number | null): Promise<void> {
    return this.#deps.changes.accessesChanged(roomId, () => {
      if (event !== null) void this.#remove(event);
    });
  }

  /** One that is not removed comes due, and is told again. */
  async #remove(event: number): Promise<void> {
    this.#done.push(event);
    if (this.#isRemoving) return;
    this.#isRemoving = true;
    while (this.#done.length > 0) {
      const events = this.#done.splice(0);
      await this.#deps.outbox
        .remove(events)
        .catch((error: unknown) => this.#deps.log.warn({ err: error, events: events.length }, 'changes of accesses not removed'));
    }
    this.#isRemoving = false; // in the turn of the last look, so none falls between
  }
}
