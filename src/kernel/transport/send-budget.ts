/**
 * How much may wait for one slow reader: beyond a soft bound it misses what a later frame makes up for, beyond a hard one it has to go.
 *
 * Frames are opaque. A reader that lost one it cannot miss would be wrong for ever, so such a one is never dropped: the socket is closed,
 * and the client starts from a fresh state (reliability 2.f).
 */
import type { Socket } from './server.ts';

export interface OutFrame {
  readonly data: string | Uint8Array;
  /** Whether a slow reader may miss it. */
  readonly droppable: boolean;
  /** Of droppable frames with the same name a slow reader gets the newest, once it has caught up; without a name it gets none. */
  readonly latestOf?: string;
  /** What its reader asked under these ids is answered by it; for the worker that has the socket. */
  readonly answers?: readonly string[];
  /** The same of what is refused. */
  readonly refuses?: readonly string[];
  /** Its reader begins anew with it, and says again what was not answered; for the worker that has the socket. */
  readonly restarts?: true;
}

/** exceeded: the last frames were not sent, and the caller must close the socket (SLOW_CONSUMER). thinned: some were dropped or put off. */
export type SendVerdict = 'sent' | 'thinned' | 'exceeded';

/** Newest frames kept for one reader; of more names than this the oldest is forgotten. */
const PUT_OFF_MAX = 1_000;

export class SendBudget {
  readonly #socket: Socket;
  readonly #softBytesMax: number;
  readonly #hardBytesMax: number;
  /** Null until one is put off. */
  #putOff: Map<string, OutFrame> | null = null;
  /** Length of the longest frame that may still be on its way, if that alone is above the hard bound: a document is no sign of a slow reader. */
  #allowanceBytes = 0;

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

  /** Sends what was put off, as far as it fits; call it when the socket has drained. */
  drained(): void {
    const putOff = this.#putOff;
    if (putOff === null) return;
    for (const [name, frame] of putOff) {
      if (this.#socket.bufferedBytes() > this.#softBytesMax) return;
      putOff.delete(name);
      this.#socket.send(frame.data);
    }
  }

  #sendOne(frame: OutFrame): SendVerdict {
    const waitingBytes = this.#socket.bufferedBytes();
    if (waitingBytes > this.#softBytesMax && frame.droppable) {
      this.#keepLatest(frame);
      return 'thinned';
    }
    if (waitingBytes <= this.#hardBytesMax) this.#allowanceBytes = 0;
    else if (waitingBytes > this.#hardBytesMax + this.#allowanceBytes) return 'exceeded';
    if (frame.latestOf !== undefined) this.#putOff?.delete(frame.latestOf); // an older one must not come after it
    this.#socket.send(frame.data);
    const bytesMost = mostBytesOf(frame.data);
    if (bytesMost > this.#hardBytesMax) this.#allowanceBytes = Math.max(this.#allowanceBytes, bytesMost);
    return 'sent';
  }

  #keepLatest(frame: OutFrame): void {
    if (frame.latestOf === undefined) return;
    this.#putOff ??= new Map();
    this.#putOff.set(frame.latestOf, frame);
    if (this.#putOff.size <= PUT_OFF_MAX) return;
    const [oldest] = this.#putOff.keys();
    this.#putOff.delete(oldest!);
  }
}

/** A UTF-16 unit is at most three bytes of UTF-8. Counting exactly would cost a pass over every frame of every reader. */
function mostBytesOf(data: string | Uint8Array): number {
  return typeof data === 'string' ? data.length * 3 : data.byteLength;
}
