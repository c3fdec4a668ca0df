/** Frames that a connection cannot take yet, because it has not joined its room: they wait here in order. */
import { BoundedQueue } from '../base/bounded.ts';

type Frame = string | Uint8Array;

/**
 * What is kept of frames while credentials are checked and the room is looked for, from anybody. SDK clients have a handful to say before they hear from us;
 * whoever speaks y-websocket says all that is typed, and every move of a cursor, from the moment in which the socket is open.
 */
const FRAMES_MAX = 1_000;
const BYTES_MAX = 10 * 1024 * 1024;

export class EarlyFrames {
  readonly #waiting = new BoundedQueue<Frame>({ itemsMax: FRAMES_MAX, bytesMax: BYTES_MAX });

  /** False when it does not fit. */
  keep(frame: Frame): boolean {
    return this.#waiting.push(frame, frame.length);
  }

  /** In order; nothing waits any more. */
  takeAll(): Frame[] {
    const frames: Frame[] = [];
    for (let frame = this.#waiting.shift(); frame !== undefined; frame = this.#waiting.shift()) frames.push(frame);
    return frames;
  }
}
