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

interface Waiting {
  readonly hint: RoomHint;
  readonly told: (wasTold: boolean) => void;
}

/** Nobody waits longer for a hint: by then clients have asked for themselves what changed. */
const LASTS_MS = 300_000;
/** For one room that takes long to load; more are lost. */
const WAITING = { itemsMax: 1_000, bytesMax: 4 * 1024 * 1024 };

export class RoomHints {
  readonly #deps: RoomHintsDeps;
  /** Behind the hint that a room is told at this moment. */
  readonly #waiting = new PassingMap<RoomId, BoundedQueue<Waiting>>();

  constructor(deps: RoomHintsDeps) {
    this.#deps = deps;
  }

  /** Whether a room that is awake was told. Never rejects. */
  tell(hint: RoomHint): Promise<boolean> {
    return new Promise((told) => {
      const waiting = this.#waiting.get(hint.roomId);
      if (waiting === undefined) void this.#tellAll({ hint, told });
      else if (!waiting.push({ hint, told }, roughBytesOf(hint.command, WAITING.bytesMax))) told(false);
    });
  }

  async #tellAll(first: Waiting): Promise<void> {
    const { rooms, clock } = this.#deps;
    const waiting = new BoundedQueue<Waiting>(WAITING);
    const { roomId } = first.hint;
    this.#waiting.set(roomId, waiting);
    for (let next: Waiting | undefined = first; next !== undefined; next = waiting.shift()) {
      const { hint, told } = next;
      told(clock.nowMs() - hint.atMs <= LASTS_MS && (await rooms.tellIfAwake(roomId, hint.command)));
    }
    this.#waiting.delete(roomId); // in the turn of the last look, so none falls between
  }
}
