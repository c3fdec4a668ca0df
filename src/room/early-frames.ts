/** Frames that a connection cannot take yet, because it has not joined its room: they wait here in order. */
import { BoundedQueue } from '../base/bounded.ts';

type Frame = string | Uint8Array;

/** What is kept of frames while credentials are checked, from anybody; a client has a handful to say before it hears from us. */
export const EARLY_FRAMES_MAX = 100;
export const EARLY_BYTES_MAX = 10 * 1024 * 1024;

export class EarlyFrames {
  readonly #waiting = new BoundedQueue<Frame>({ itemsMax: EARLY_FRAMES_MAX, bytesMax: EARLY_BYTES_MAX });

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
