/** What a client reads of a frame of text. */
import { textIn } from '../../src/base/pieces.ts';
import { type Frame, isUtf8 } from '../../src/kernel/transport/frame.ts';

export function frameText(frame: Frame): string {
  return isUtf8(frame) ? textIn(frame.utf8) : String(frame);
}
