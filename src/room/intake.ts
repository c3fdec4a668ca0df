/**
 * What this worker's sockets say, as fast as it can be heard. While the turns of the event loop are short every frame is heard when it comes. In one that gets
 * long frames wait, and each further turn hears some, of one socket after the other: commits, leases, timers and other workers have theirs in between. Else a
 * worker that is behind reads in each turn all that came in the one before, which was longer than the one before that, and in the end its lease runs out.
 *
 * What waits is bounded. For what comes beyond that, what waits is heard at once: the system then holds the rest, and its clients are slowed down. Where that
 * makes a turn too long, who goes on speaking is closed.
 */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';

type Frame = string | Uint8Array;

/** One socket's end of it. None of this throws. */
export interface Speaker {
  /** What it said that waits; null while nothing does. */
  unheard: Unheard | null;
  /** Monotonic time at which its last frame came. */
  readonly heardAtMs: number;
  hear(frame: Frame): void;
  /** It is gone, and all that it said was heard. */
  leave(): void;
  refuse(refusal: AppError): void;
}

/** In the order in which it came. */
export interface Unheard {
  readonly frames: Frame[];
  readonly cameAtMs: number[];
  hasLeft: boolean;
}

/** A turn is long after once or twice that; and of each turn after it so much is for what waits. */
const SLICE_MS = 100;
/** What one socket said is heard at best together; what others said waits for that. */
const FRAMES_OF_ONE = 16;
/** Of all sockets; a character of a text counts as a byte. */
const BYTES_MAX = 64 * 1024 * 1024;
/** What is kept beside each frame. */
const BYTES_BESIDE = 64;
/** Leases are renewed each second. */
const TURN_MS_MAX = 500;

export class Intake {
  readonly #clock: Pick<Clock, 'monotonicMs' | 'soon'>;
  /** Who has said something that waits: whose turn comes in this round, from `#next` on, and in the one after it. */
  #round: Speaker[] = [];
  #next = 0;
  #nextRound: Speaker[] = [];
  #bytes = 0;
  /** When a frame was heard at once for the first time in `SLICE_MS`, or what waits was heard last. */
  #sinceMs = Number.NEGATIVE_INFINITY;
  /** The turn of `#sinceMs` has not ended. */
  #isSameTurn = false;
  #lagMs = 0;

  constructor(clock: Pick<Clock, 'monotonicMs' | 'soon'>) {
    this.#clock = clock;
  }

  /** Frames that wait, in bytes. */
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
  take(speaker: Speaker, frame: Frame): void {
    if (!this.#isBehind && this.#isEarly(speaker.heardAtMs)) speaker.hear(frame);
    else if (this.#hasRoomFor(frame)) this.#keep(speaker, frame);
    else speaker.refuse(new AppError('WORKER_OVERLOADED'));
  }

  /** Nothing more comes from `speaker`: it leaves when all that it said was heard. */
  end(speaker: Speaker): void {
    if (speaker.unheard === null) speaker.leave();
    else speaker.unheard.hasLeft = true;
  }

  get #isBehind(): boolean {
    return this.#round.length > 0;
  }

  /** Whether the turn is short still. The end of each turn is not watched, which would cost more than what most turns bring. */
  #isEarly(nowMs: number): boolean {
    if (nowMs - this.#sinceMs < SLICE_MS) return true;
    if (this.#isSameTurn) return false;
    this.#sinceMs = nowMs;
    this.#endTurnLater();
    return true;
  }

  #endTurnLater(): void {
    this.#isSameTurn = true;
    this.#clock.soon(() => this.#endTurn());
  }

  #endTurn(): void {
    this.#isSameTurn = false;
    if (!this.#isBehind) return;
    const startedMs = this.#clock.monotonicMs();
    let nowMs = startedMs;
    do {
      this.#hearSome(nowMs);
      nowMs = this.#clock.monotonicMs();
    } while (this.#isBehind && nowMs - startedMs < SLICE_MS);
    this.#sinceMs = nowMs;
    if (this.#isBehind) this.#endTurnLater();
  }

  #keep(speaker: Speaker, frame: Frame): void {
    if (speaker.unheard === null) {
      speaker.unheard = { frames: [], cameAtMs: [], hasLeft: false };
      (this.#isBehind ? this.#nextRound : this.#round).push(speaker);
    }
    speaker.unheard.frames.push(frame);
    speaker.unheard.cameAtMs.push(speaker.heardAtMs);
    this.#bytes += weightOf(frame);
  }

  /** Makes it, as long as that is no matter of more than a long turn. */
  #hasRoomFor(frame: Frame): boolean {
    while (this.#isBehind && this.#bytes + weightOf(frame) > BYTES_MAX) {
      const nowMs = this.#clock.monotonicMs();
      if (nowMs - this.#sinceMs > TURN_MS_MAX) return false;
      this.#hearSome(nowMs);
    }
    return true;
  }

  /** Of the socket whose turn it is. */
  #hearSome(nowMs: number): void {
    const speaker = this.#round[this.#next]!;
    const { frames, cameAtMs, hasLeft } = speaker.unheard!;
    this.#lagMs = Math.max(this.#lagMs, nowMs - cameAtMs[0]!);
    cameAtMs.splice(0, FRAMES_OF_ONE);
    for (const frame of frames.splice(0, FRAMES_OF_ONE)) {
      this.#bytes -= weightOf(frame);
      speaker.hear(frame);
    }
    this.#next += 1;
    if (frames.length > 0) this.#nextRound.push(speaker);
    else speaker.unheard = null;
    if (this.#next === this.#round.length) this.#beginRound();
    if (frames.length === 0 && hasLeft) speaker.leave();
  }

  #beginRound(): void {
    this.#round = this.#nextRound;
    this.#nextRound = [];
    this.#next = 0;
  }
}

function weightOf(frame: Frame): number {
  return frame.length + BYTES_BESIDE;
}
