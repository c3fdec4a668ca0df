/**
 * Tells every worker that the accesses of a room changed: whoever is in it, anywhere, shows again what lets them in.
 *
 * A word that is lost would leave somebody in a room that has shut them out, so each worker is asked until it has answered. One that was without a
 * lease meanwhile looks at all its sockets when it has one again.
 */
import type { Clock } from '../base/clock.ts';
import { asRoomId, type RoomId, type WorkerAddress } from '../base/ids.ts';
import type { Log } from '../base/observe.ts';
import type { Bus, Message } from '../kernel/cluster/bus.ts';

export interface AccessChangesDeps {
  readonly bus: Pick<Bus, 'ask' | 'address'>;
  readonly clock: Clock;
  readonly log: Log;
  /** All others that may have sockets. @throws AppError DATABASE_UNAVAILABLE */
  readonly findOthers: () => Promise<readonly WorkerAddress[]>;
  readonly here: { reconsider(roomId: RoomId): void };
}

const CHANGED = 'access.changed';
const ANSWER_MS = 1_000;
const AGAIN_MS = 250;
/** A worker that holds its lease and cannot be reached for so long is in no touch with the rooms of others either. */
const GIVEN_UP_MS = 60_000;

export class AccessChanges {
  readonly #deps: AccessChangesDeps;

  constructor(deps: AccessChangesDeps) {
    this.#deps = deps;
  }

  /** Whether a message of the bus is for `handle`. */
  static isFor({ kind }: Message): boolean {
    return kind === CHANGED;
  }

  /** Resolves when every worker has heard of it, or has ended. Never rejects. */
  async announce(roomId: RoomId): Promise<void> {
    const { clock, here, log } = this.#deps;
    here.reconsider(roomId);
    const told = new Set<WorkerAddress>();
    const endMs = clock.monotonicMs() + GIVEN_UP_MS;
    while (!(await this.#tellAll(roomId, told))) {
      if (clock.monotonicMs() >= endMs) {
        log.warn({ roomId }, 'a change of accesses did not reach every worker');
        return;
      }
      await new Promise<void>((resolve) => clock.after(AGAIN_MS, resolve));
    }
  }

  handle({ payload }: Message): null {
    this.#deps.here.reconsider(asRoomId(payload as string));
    return null;
  }

  /** Asks those who have not answered yet; true when none is left. */
  async #tellAll(roomId: RoomId, told: Set<WorkerAddress>): Promise<boolean> {
    const others = await this.#deps.findOthers().catch(() => null);
    if (others === null) return false;
    const message: Message = { kind: CHANGED, payload: roomId };
    const tell = async (to: WorkerAddress): Promise<void> => {
      await this.#deps.bus.ask(to, message, { deadlineMs: ANSWER_MS }).then(
        () => told.add(to),
        () => undefined, // it is asked again, if it is still there
      );
    };
    await Promise.all(others.filter((at) => !told.has(at)).map(tell));
    return others.every((at) => told.has(at));
  }
}
