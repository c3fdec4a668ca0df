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
import { extraAnswerMs, isRead } from './command-kinds.ts';
import type { Command, RoomDoor } from './shapes.ts';

export interface DoorDeps extends Pick<RoomDoor, 'isFull' | 'close'> {
  readonly clock: Clock;
  readonly router: Pick<Router<Command>, 'ask' | 'askIfAwake' | 'tellIfAwake'>;
  /** How long the oldest change of this worker waits for its commit. */
  readonly oldestAppendMs: () => number;
}

/** A router that looks for an owner says within ten seconds why it found none: it should have the word. */
const ANSWER_MS_MAX = 11_000;
/** A read that has waited so long, and a change too, has waited for that. */
const LONG_WAIT_MS = ANSWER_MS_MAX / 2;
/** So many questions of one room that nobody waits for any more may be under way; beyond that who comes back each second would pile them up for as long as the database is away. */
const LATE_MAX = 100;

export function openDoor({ isFull, close, ...deps }: DoorDeps): RoomDoor {
  const door = new Door(deps);
  return {
    isFull,
    ask: (roomId, command) => door.ask(roomId, command),
    askIfAwake: (roomId, command) => door.askIfAwake(roomId, command),
    tellIfAwake: (roomId, command) => deps.router.tellIfAwake(roomId, command),
    close,
  };
}

class Door implements Pick<RoomDoor, 'ask' | 'askIfAwake'> {
  readonly #deps: Omit<DoorDeps, 'isFull' | 'close'>;
  /** By room, questions under way that have been answered for. */
  readonly #late = new Map<RoomId, number>();

  constructor(deps: Omit<DoorDeps, 'isFull' | 'close'>) {
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
      const cancel = this.#deps.clock.after(ANSWER_MS_MAX + extraAnswerMs(command), () => {
        reject(this.#tooLate(command));
        this.#outlast(roomId, asked);
      });
      asked.then(resolve, (error: unknown) => reject(isRead(command) ? asRead(error) : error)).finally(cancel);
    });
  }

  #tooLate(command: Command): AppError {
    if (!isRead(command)) return new AppError('OUTCOME_UNKNOWN');
    const waitsMs = Math.round(this.#deps.oldestAppendMs());
    if (waitsMs < LONG_WAIT_MS) return new AppError('NO_ANSWER');
    return new AppError('DATABASE_UNAVAILABLE', { reason: `the oldest change has waited ${waitsMs} ms for its commit` });
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
function asRead(error: unknown): unknown {
  return error instanceof AppError && error.code === 'OUTCOME_UNKNOWN' ? new AppError('NO_ANSWER') : error;
}

/** For `Route.mustTake` of routes that change a room. @throws AppError ROOM_OVERLOADED while it would refuse any change */
export function mustTakeChanges({ roomId }: { readonly roomId: string }, { rooms }: { readonly rooms: RoomDoor }): void {
  if (rooms.isFull(checkRoomId(roomId, 'roomId'))) throw new AppError('ROOM_OVERLOADED');
}
