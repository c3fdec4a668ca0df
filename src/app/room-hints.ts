/**
 * What rooms are told and may miss, as events of comments: each room hears it in order, one after the other, and one that takes long holds up nobody
 * else. What cannot be told is lost: clients find out when they ask next.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { Clock } from '../base/clock.ts';
import type { RoomId } from '../base/ids.ts';
import { PassingMap } from '../base/passing.ts';
import { roughBytesOf } from '../base/rough-bytes.ts';
import type { Command, RoomDoor } from '../room/shapes.ts';

export interface RoomHint {
  readonly roomId: RoomId;
  readonly command: Command;
  /** Of what it tells. */
  readonly atMs: number;
}

interface RoomHintsDeps {
  readonly rooms: Pick<RoomDoor, 'tellIfAwake'>;
  readonly clock: Pick<Clock, 'nowMs'>;
}

/** Nobody waits longer for a hint: by then clients have asked for themselves what changed. */
const LASTS_MS = 300_000;
/** For one room that takes long to load; more are lost. */
const WAITING = { itemsMax: 1_000, bytesMax: 4 * 1024 * 1024 };

export class RoomHints {
  readonly #deps: RoomHintsDeps;
  /** Behind the hint that a room is told at this moment. */
  readonly #waiting = new PassingMap<RoomId, BoundedQueue<RoomHint>>();

  constructor(deps: RoomHintsDeps) {
    this.#deps = deps;
  }

  /** Never throws. */
  tell(hint: RoomHint): void {
    const waiting = this.#waiting.get(hint.roomId);
    if (waiting === undefined) void this.#tellAll(hint);
    else waiting.push(hint, roughBytesOf(hint.command, WAITING.bytesMax));
  }

  async #tellAll(first: RoomHint): Promise<void> {
    const { rooms, clock } = this.#deps;
    const waiting = new BoundedQueue<RoomHint>(WAITING);
    this.#waiting.set(first.roomId, waiting);
    for (let hint: RoomHint | undefined = first; hint !== undefined; hint = waiting.shift()) {
      if (clock.nowMs() - hint.atMs <= LASTS_MS) await rooms.tellIfAwake(hint.roomId, hint.command);
    }
    this.#waiting.delete(first.roomId); // in the turn of the last look, so none falls between
  }
}
