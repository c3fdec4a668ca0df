/**
 * How much may wait for one slow reader: beyond a soft bound it misses what it can be told anew once it reads again, beyond a hard one it has to go.
 *
 * Frames are opaque. A reader that lost one it cannot miss would be wrong for ever, so such a one is never dropped: the socket is closed,
 * and the client starts from a fresh state (reliability 2.f).
 */
import { type Frame, lengthOf } from './frame.ts';
import type { Socket } from './server.ts';

export interface OutFrame {
  readonly data: Frame;
  /** Whether a slow reader may miss it, as it is told the latest once it has caught up. */
  readonly droppable: boolean;
  /** What its reader asked under these ids is answered by it; for the worker that has the socket. */
  readonly answers?: readonly string[] | undefined;
  /** The same of what is refused. */
  readonly refuses?: readonly string[] | undefined;
  /** Its reader begins anew with it, and says again what was not answered; for the worker that has the socket. */
  readonly restarts?: true | undefined;
}

/** exceeded: the last frames were not sent, and the caller must close the socket (SLOW_CONSUMER). thinned: some were dropped. */
export type SendVerdict = 'sent' | 'thinned' | 'exceeded';

export class SendBudget {
  readonly #socket: Socket;
  readonly #softBytesMax: number;
  readonly #hardBytesMax: number;
  /** Length of the longest frame that may still be on its way, if that alone is above the hard bound: a document is no sign of a slow reader. */
  #allowanceBytes = 0;
  /** The reader missed something, and misses all that it may until it has caught up: else a little would always get through, and the latest never. */
  #isThinned = false;

  constructor({ socket, softBytesMax, hardBytesMax }: { socket: Socket; softBytesMax: number; hardBytesMax: number }) {
    this.#socket = socket;
    this.#softBytesMax = softBytesMax;
    this.#hardBytesMax = hardBytesMax;
  }

  send(frames: readonly OutFrame[]): SendVerdict {
    if (frames.length === 1) return this.#sendOne(frames[0]!);
    let verdict: SendVerdict = 'sent';
    this.#socket.cork(() => {
      for (const frame of frames) {
        const next = this.#sendOne(frame);
        if (next !== 'sent') verdict = next;
        if (next === 'exceeded') return;
      }
    });
    return verdict;
  }

  /** Whether it misses what it may, and has not caught up. */
  get hasMissed(): boolean {
    return this.#isThinned;
  }

  /** Whether a reader that missed something reads again, and has room for the latest of it. Says so once. */
  caughtUp(): boolean {
    if (!this.#isThinned || this.#socket.bufferedBytes() > this.#softBytesMax / 2) return false;
    this.#isThinned = false;
    return true;
  }

  #sendOne({ data, droppable }: OutFrame): SendVerdict {
    const waitingBytes = this.#socket.bufferedBytes();
    if (waitingBytes <= this.#hardBytesMax) this.#allowanceBytes = 0;
    if (droppable && (this.#isThinned || waitingBytes > this.#softBytesMax + this.#allowanceBytes)) {
      this.#isThinned = true;
      return 'thinned';
    }
    if (waitingBytes > this.#hardBytesMax + this.#allowanceBytes) return 'exceeded';
    this.#socket.send(data);
    const bytesMost = mostBytesOf(data);
    if (bytesMost > this.#hardBytesMax && !droppable) this.#allowanceBytes = Math.max(this.#allowanceBytes, bytesMost);
    return 'sent';
  }
}

/** A UTF-16 unit is at most three bytes of UTF-8. Counting exactly would cost a pass over every frame of every reader. */
function mostBytesOf(data: Frame): number {
  return typeof data === 'string' ? data.length * 3 : lengthOf(data);
}
