/** What a client reads of a frame of text. */
import { type Frame, isUtf8 } from '../../src/kernel/transport/frame.ts';

export function frameText(frame: Frame): string {
  return isUtf8(frame) ? Buffer.from(frame.utf8).toString() : String(frame);
}
