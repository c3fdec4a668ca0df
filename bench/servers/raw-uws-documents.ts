/** What the relay keeps when a case asks for it: the updates of each room, and the answer to a newcomer, made once and sent as it is. */
import * as Y from 'yjs';
import { STEP_2, syncFrame, updateIn } from '../load/sync-frames.ts';

interface Kept {
  readonly updates: Uint8Array[];
  /** Null when an update came since it was made. */
  stepTwo: Uint8Array | null;
}

export class KeptDocuments {
  readonly #rooms = new Map<string, Kept>();

  add(room: string, frame: Buffer): void {
    const kept = this.#rooms.get(room) ?? { updates: [], stepTwo: null };
    kept.updates.push(Uint8Array.from(updateIn(frame)));
    kept.stepTwo = null;
    this.#rooms.set(room, kept);
  }

  stepTwoOf(room: string): Uint8Array | null {
    const kept = this.#rooms.get(room);
    if (kept === undefined) return null;
    kept.stepTwo ??= syncFrame(STEP_2, Y.mergeUpdates(kept.updates));
    return kept.stepTwo;
  }
}
