/**
 * The door through which features ask rooms, and what they ask there before they hand anything in.
 *
 * A socket waits for as long as its room does. Whoever sends a request does not: a room that cannot write down what it has decided, or does not come to an end
 * otherwise, is answered for here. Only the waiting ends: what was asked goes on, and a repetition with the same request finds it.
 */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { RoomId } from '../base/ids.ts';
import type { Router } from '../kernel/cluster/router.ts';
import { checkRoomId } from '../protocol/names.ts';
import { isRead } from './command-kinds.ts';
import type { Command, RoomDoor } from './shapes.ts';

export interface DoorDeps {
  readonly clock: Clock;
  readonly router: Pick<Router<Command>, 'ask' | 'askIfAwake'>;
}

/** A router that looks for an owner says within ten seconds why it found none: it should have the word. */
const ANSWER_MS_MAX = 11_000;
/** So many questions of one room that nobody waits for any more may be under way; beyond that who comes back each second would pile them up for as long as the database is away. */
const LATE_MAX = 100;

export class Door implements Pick<RoomDoor, 'ask' | 'askIfAwake'> {
  readonly #deps: DoorDeps;
  /** By room, questions under way that have been answered for. */
  readonly #late = new Map<RoomId, number>();

  constructor(deps: DoorDeps) {
    this.#deps = deps;
  }

  ask(roomId: RoomId, command: Command): Promise<unknown> {
    return this.#inTime(roomId, command, () => this.#deps.router.ask(roomId, command));
  }

  askIfAwake(roomId: RoomId, command: Command): Promise<{ readonly reply: unknown } | null> {
    return this.#inTime(roomId, command, () => this.#deps.router.askIfAwake(roomId, command));
  }

  async #inTime<Reply>(roomId: RoomId, command: Command, ask: () => Promise<Reply>): Promise<Reply> {
    if ((this.#late.get(roomId) ?? 0) >= LATE_MAX) throw new AppError('ROOM_OVERLOADED');
    const asked = ask();
    return new Promise((resolve, reject) => {
      const cancel = this.#deps.clock.after(ANSWER_MS_MAX, () => {
        reject(tooLate(command));
        this.#outlast(roomId, asked);
      });
      asked.then(resolve, reject).finally(cancel);
    });
  }

  #outlast(roomId: RoomId, asked: Promise<unknown>): void {
    this.#late.set(roomId, (this.#late.get(roomId) ?? 0) + 1);
    const ended = (): void => {
      const left = this.#late.get(roomId)! - 1;
      if (left > 0) this.#late.set(roomId, left);
      else this.#late.delete(roomId);
    };
    asked.then(ended, ended);
  }
}

/** A read has no effect that could be in doubt. */
function tooLate(command: Command): AppError {
  return isRead(command)
    ? new AppError('DATABASE_UNAVAILABLE', { reason: `no answer within ${ANSWER_MS_MAX} ms` })
    : new AppError('OUTCOME_UNKNOWN');
}

/** For `Route.mustTake` of routes that change a room. @throws AppError ROOM_OVERLOADED while it would refuse any change */
export function mustTakeChanges({ roomId }: { readonly roomId: string }, { rooms }: { readonly rooms: RoomDoor }): void {
  if (rooms.isFull(checkRoomId(roomId, 'roomId'))) throw new AppError('ROOM_OVERLOADED');
}
