/** The ways from a socket to its room, which may be on any worker. */
import type { RoomId, WorkerAddress } from '../base/ids.ts';
import type { Line } from '../kernel/actor/slot.ts';
import type { Command } from './shapes.ts';

/** The rooms, wherever they are. */
export interface RoomsElsewhere {
  ask(key: RoomId, command: Command): Promise<unknown>;
  /** To the worker where the session joined, if that is another than this one. False when no owner is known: nothing was sent. */
  tell(key: RoomId, command: Command, joinedAt: WorkerAddress | null): boolean;
  /** A shorter way for `tell` to a room on this worker, as long as it leads there; null for any other. */
  lineTo(key: RoomId): Line<Command> | null;
  /** The worker that commands are told to; null for this one. */
  locationOf(key: RoomId): WorkerAddress | null;
}
