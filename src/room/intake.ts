/**
 * What this worker's sockets say, as fast as it can be heard. While frames take little of a turn of the event loop each is heard when it comes. When they take
 * long the others wait, and each further turn hears some, of one socket after the other: commits, leases, timers and other workers have theirs in between. Else
 * a worker that is behind reads in each turn all that came in the one before, which was longer than the one before that, and in the end its lease runs out.
 *
 * What waits is bounded, in bytes, for each socket and for all, and in time. For what comes beyond the bytes of all, what waits is heard at once: the system then
 * holds the rest, and its clients are slowed down. Where that takes long, who goes on speaking is closed; and so are some of those that have waited too long.
 * They come back when they are let in, and bring what was not answered.
 */
import { BoundedQueue } from '../base/bounded.ts';
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';

type Frame = string | Uint8Array;

/** One socket's end of it. */
export interface Speaker {
  /** What it said that waits; null while nothing does. */
  waiting: Waiting | null;
  /** Nothing of it is to be heard any more. */
  readonly isClosed: boolean;
  /** `cameAtMs` is monotonic, and never less than that of the frame before. */
  hear(frame: Frame, cameAtMs: number): void;
  /** It is gone, and all that it said was heard. */
  leave(): void;
  /** It is closed then. */
  refuse(refusal: AppError): void;
}

export interface Waiting {
  readonly frames: BoundedQueue<{ readonly frame: Frame; readonly cameAtMs: number }>;
  hasEnded: boolean;
}

interface IntakeDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'soon'>;
  readonly log: Log;
}

/**
 * Frames may take once or twice that of a turn, and of each turn after it so much is for what waits. Only between turns is Postgres heard and sent its next
 * statement: with 100 ms changes were decided faster than they were written, what waited made garbage dear, and turns longer still (bench/FLOORS.md).
 */
const SLICE_MS = 15;
/** What one socket said is heard at best together; what others said waits for that. */
const FRAMES_OF_ONE = 16;
/** A character of a text counts as a byte. */
const BYTES_MAX = 64 * 1024 * 1024;
const BYTES_OF_ONE_MAX = 10 * 1024 * 1024;
/** What is kept beside each frame. */
const BYTES_BESIDE = 256;
/** So short a frame of a socket of which nothing waits finds room always: there are only so many sockets. */
const SHORT_BYTES_MAX = 4 * 1024;
/** So much more of a turn may be for what comes beyond BYTES_MAX. */
const MAKING_ROOM_MS = 400;
/** Who has waited for so long is closed, of a hundred who wait one in each turn: with fewer the others may be heard in time. */
const LATE_MS = 5_000;
const CLOSED_SHARE = 0.01;

export class Intake {
  readonly #deps: IntakeDeps;
  /** Who has something that waits: whose turn comes in this round, from `#next` on, and in the one after it. */
  #round: Speaker[] = [];
  #next = 0;
  #nextRound: Speaker[] = [];
  /** Who is gone has every other turn: its client may be back already, over another socket. */
  readonly #ended: Speaker[] = [];
  #isTurnOfEnded = true;
  #bytes = 0;
  /** When a frame was heard at once for the first time in SLICE_MS, or a slice ended. */
  #sinceMs = Number.NEGATIVE_INFINITY;
  /** The turn of `#sinceMs` has not ended. */
  #isSameTurn = false;
  #makingRoomMs = 0;
  #mayClose = 0;
  #lagMs = 0;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  /** Of what waits. */
  get bytes(): number {
    return this.#bytes;
  }

  /** How long what was heard since this was asked before had waited at most; 0 where nothing waited. */
  readLagMs(): number {
    const lagMs = this.#lagMs;
    this.#lagMs = 0;
    return lagMs;
  }

  /** A frame of `speaker` came. It is heard after all that it said before. */
  take(speaker: Speaker, frame: Frame, cameAtMs: number): void {
    if (!this.#isBehind && this.#isEarly(cameAtMs)) {
      speaker.hear(frame, cameAtMs);
      return;
    }
    const hasRoom = this.#hasRoomFor(frame) || (speaker.waiting === null && frame.length <= SHORT_BYTES_MAX);
    if (speaker.isClosed) return; // by what was heard to make room
    if (!hasRoom || !this.#keep(speaker, frame, cameAtMs)) speaker.refuse(new AppError('WORKER_OVERLOADED'));
  }

  /** Nothing more comes from `speaker`: it leaves when all that it said was heard. */
  end(speaker: Speaker): void {
    if (speaker.waiting === null) {
      speaker.leave();
    } else {
      speaker.waiting.hasEnded = true;
      this.#ended.push(speaker);
    }
  }

  /** What waits of `speaker` is not heard. */
  forget(speaker: Speaker): void {
    if (speaker.waiting === null) return;
    this.#bytes -= speaker.waiting.frames.bytes;
    speaker.waiting = null; // its turn is passed over
  }

  /** What waits of `speaker`, which is to hear it at once. */
  takeBack(speaker: Speaker): Frame[] {
    const { waiting } = speaker;
    this.forget(speaker);
    const frames: Frame[] = [];
    for (let next = waiting?.frames.shift(); next !== undefined; next = waiting?.frames.shift()) frames.push(next.frame);
    return frames;
  }

  get #isBehind(): boolean {
    return this.#round.length > 0;
  }

  /** Whether frames took little of this turn so far. The end of each turn is not watched, which would cost more than what most turns bring. */
  #isEarly(nowMs: number): boolean {
    if (nowMs - this.#sinceMs < SLICE_MS) return true;
    if (this.#isSameTurn) return false;
    this.#sinceMs = nowMs;
    this.#endTurnLater();
    return true;
  }

  #endTurnLater(): void {
    this.#isSameTurn = true;
    this.#deps.clock.soon(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#isSameTurn = false;
    this.#makingRoomMs = 0;
    if (!this.#isBehind) return;
    this.#mayClose = Math.ceil((this.#round.length + this.#nextRound.length) * CLOSED_SHARE);
    const endMs = this.#deps.clock.monotonicMs() + SLICE_MS;
    do this.#hearSome(endMs);
    while (this.#isBehind && this.#deps.clock.monotonicMs() < endMs);
    this.#sinceMs = this.#deps.clock.monotonicMs();
    if (this.#isBehind) this.#endTurnLater();
  }

  /** Makes it, if it must, as long as the turn may get longer by that. */
  #hasRoomFor(frame: Frame): boolean {
    while (this.#isBehind && this.#bytes + weightOf(frame) > BYTES_MAX) {
      const leftMs = MAKING_ROOM_MS - this.#makingRoomMs;
      if (leftMs <= 0) return false;
      const startedMs = this.#deps.clock.monotonicMs();
      this.#hearSome(startedMs + leftMs);
      this.#makingRoomMs += this.#deps.clock.monotonicMs() - startedMs;
    }
    return true;
  }

  /** False when more of it waits than may of one socket. */
  #keep(speaker: Speaker, frame: Frame, cameAtMs: number): boolean {
    const { frames } = speaker.waiting ?? this.#begin(speaker);
    const weight = weightOf(frame);
    if (frames.size > 0 && frames.bytes + weight > BYTES_OF_ONE_MAX) return false;
    frames.push({ frame: toKeep(frame), cameAtMs }, weight);
    this.#bytes += weight;
    return true;
  }

  #begin(speaker: Speaker): Waiting {
    const unbounded = { itemsMax: Number.POSITIVE_INFINITY, bytesMax: Number.POSITIVE_INFINITY }; // one frame may be longer than any bound
    speaker.waiting = { frames: new BoundedQueue(unbounded), hasEnded: false };
    (this.#isBehind ? this.#nextRound : this.#round).push(speaker);
    return speaker.waiting;
  }

  /** Of the socket whose turn it is, until `endMs`, or a little longer. */
  #hearSome(endMs: number): void {
    const gone = this.#isTurnOfEnded ? this.#ended[0] : undefined;
    this.#isTurnOfEnded = gone === undefined;
    const speaker = gone ?? this.#round[this.#next]!;
    try {
      for (let heard = 0; heard < FRAMES_OF_ONE && speaker.waiting !== null; heard += 1) {
        this.#hearOne(speaker, speaker.waiting);
        if (this.#deps.clock.monotonicMs() >= endMs) break;
      }
    } catch (error) {
      this.#deps.log.error({ err: error }, 'frame failed');
    }
    if (gone === undefined) this.#pass(speaker);
    else if (gone.waiting === null) this.#ended.shift();
  }

  #hearOne(speaker: Speaker, waiting: Waiting): void {
    const { frame, cameAtMs } = waiting.frames.shift()!;
    this.#bytes -= weightOf(frame);
    const lagMs = this.#deps.clock.monotonicMs() - cameAtMs;
    this.#lagMs = Math.max(this.#lagMs, lagMs);
    const isLast = waiting.frames.size === 0;
    if (isLast) speaker.waiting = null;
    if (lagMs > LATE_MS && this.#mayClose > 0 && !waiting.hasEnded) {
      this.#mayClose -= 1;
      speaker.refuse(new AppError('WORKER_OVERLOADED'));
      return;
    }
    try {
      speaker.hear(frame, cameAtMs);
    } finally {
      if (isLast && waiting.hasEnded) speaker.leave();
    }
  }

  #pass(speaker: Speaker): void {
    this.#next += 1;
    if (speaker.waiting !== null) this.#nextRound.push(speaker);
    if (this.#next < this.#round.length) return;
    this.#round = this.#nextRound;
    this.#nextRound = [];
    this.#next = 0;
    if (!this.#isBehind) this.#ended.length = 0;
  }
}

function weightOf(frame: Frame): number {
  return frame.length + BYTES_BESIDE;
}

/** Short frames come in memory that they share. */
function toKeep(frame: Frame): Frame {
  return typeof frame !== 'string' && frame.buffer.byteLength > frame.byteLength ? new Uint8Array(frame) : frame;
}
