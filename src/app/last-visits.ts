/** When rooms were last entered, written down some at a time; one that many enter at once is written once a second. */
import { type Clock, isoFromMs } from '../base/clock.ts';
import type { RoomId } from '../base/ids.ts';
import { putNewest } from '../base/newest.ts';
import type { Log } from '../base/observe.ts';
import type { Visit } from '../features/rooms/queries.ts';
import { Batched } from '../kernel/persistence/batched.ts';

interface LastVisitsDeps {
  readonly clock: Clock;
  readonly log: Log;
  readonly write: (visits: readonly Visit[]) => Promise<void>;
}

const AGAIN_AFTER_MS = 1_000;
const VISITS_AT_ONCE = 500;
const WAITING_MAX = 100_000;
/** Rooms of which the last note is remembered; of others one more is written. */
const NOTED_MAX = 10_000;

export class LastVisits {
  readonly #clock: Clock;
  readonly #waiting: Batched<Visit>;
  /** Oldest first. */
  readonly #notedAtMs = new Map<RoomId, number>();

  constructor(deps: LastVisitsDeps) {
    this.#clock = deps.clock;
    this.#waiting = new Batched(deps, {
      phrase: 'last visits not written',
      itemsMax: VISITS_AT_ONCE,
      waitingMax: WAITING_MAX,
      write: (visits) => deps.write(latestOf(visits)),
    });
  }

  /** Somebody enters now. */
  note(roomId: RoomId): void {
    const nowMs = this.#clock.monotonicMs();
    const notedMs = this.#notedAtMs.get(roomId);
    if (notedMs !== undefined && nowMs - notedMs < AGAIN_AFTER_MS) return;
    putNewest(this.#notedAtMs, roomId, nowMs, NOTED_MAX);
    this.#waiting.add({ roomId, atIso: isoFromMs(this.#clock.nowMs()) });
  }

  close(): Promise<void> {
    return this.#waiting.close();
  }
}

/** One of each room. */
function latestOf(visits: readonly Visit[]): Visit[] {
  return [...new Map(visits.map((visit) => [visit.roomId, visit])).values()];
}
