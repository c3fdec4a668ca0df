/** Frames that a connection cannot take yet, because it has not joined its room: they wait here in order. */
import { BoundedQueue } from '../base/bounded.ts';

type Frame = string | Uint8Array;

/** What is kept of frames while credentials are checked, from anybody; a client has a handful to say before it hears from us. */
const FRAMES_MAX = 100;
const BYTES_MAX = 10 * 1024 * 1024;
export const TOO_MANY_EARLY = `more than ${FRAMES_MAX} frames, or ${BYTES_MAX} bytes, came before the room was entered`;

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
