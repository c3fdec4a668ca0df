/**
 * How much may wait for one slow reader: beyond a soft bound it misses what it can be told anew once it reads again, beyond a hard one it has to go.
 *
 * Frames are opaque. A reader that lost one it cannot miss would be wrong for ever, so such a one is never dropped: the socket is closed,
 * and the client starts from a fresh state (reliability 2.f).
 */
import type { Socket } from './server.ts';

export interface OutFrame {
  readonly data: string | Uint8Array;
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

/** A document is no sign of a slow reader: a frame longer than the bound passes, and what follows it has the usual room behind it. */
class Bound {
  readonly #bytesMax: number;
  /** Length of the longest such frame that may still be on its way. */
  #longestBytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  isExceededBy(waitingBytes: number): boolean {
    if (waitingBytes <= this.#bytesMax) this.#longestBytes = 0;
    return waitingBytes > this.#bytesMax + this.#longestBytes;
  }

  sent(bytes: number): void {
    if (bytes > this.#bytesMax) this.#longestBytes = Math.max(this.#longestBytes, bytes);
  }
}

export class SendBudget {
  readonly #socket: Socket;
  readonly #soft: Bound;
  readonly #hard: Bound;
  readonly #caughtUpBytes: number;
  /** The reader missed something that it has not been told anew. */
  #isThinned = false;

  constructor({ socket, softBytesMax, hardBytesMax }: { socket: Socket; softBytesMax: number; hardBytesMax: number }) {
    this.#socket = socket;
    this.#soft = new Bound(softBytesMax);
    this.#hard = new Bound(hardBytesMax);
    this.#caughtUpBytes = softBytesMax / 2;
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

  /** Whether a reader that missed something reads again, and has room for the latest of it. Says so once. */
  caughtUp(): boolean {
    if (!this.#isThinned || this.#socket.bufferedBytes() > this.#caughtUpBytes) return false;
    this.#isThinned = false;
    return true;
  }

  #sendOne({ data, droppable }: OutFrame): SendVerdict {
    const waitingBytes = this.#socket.bufferedBytes();
    const isOverHard = this.#hard.isExceededBy(waitingBytes);
    if (droppable && (isOverHard || this.#soft.isExceededBy(waitingBytes))) {
      this.#isThinned = true;
      return 'thinned';
    }
    if (isOverHard) return 'exceeded';
    this.#socket.send(data);
    const bytesMost = mostBytesOf(data);
    this.#soft.sent(bytesMost);
    this.#hard.sent(bytesMost);
    return 'sent';
  }
}

/** A UTF-16 unit is at most three bytes of UTF-8. Counting exactly would cost a pass over every frame of every reader. */
function mostBytesOf(data: string | Uint8Array): number {
  return typeof data === 'string' ? data.length * 3 : data.byteLength;
}
