/**
 * Answers to edits of texts that wait until their client must have read the Storage that left before them; and after such an answer, all that follows.
 *
 * An SDK client that reads Storage sends again what is not answered, and of a text also what was typed since, under the op id of the edit that went
 * before (protocol 6.1, 6.3). An answer to that edit which comes only then makes it forget the rest, too: were the room's owner lost before the rest is
 * written down, nobody would bring it again. So the two answers leave together. Others are told of an edit as soon as it is written down.
 *
 * That Storage has arrived, the answer to a ping behind it says; that it has been read, nothing: it is given a moment.
 */
import type { Clock } from '../base/clock.ts';
import { SmallMap } from '../base/small.ts';
import { lengthOf } from '../kernel/transport/frame.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import { OP, type Op } from '../protocol/storage-ops.ts';

/** The connection of that client. */
export interface Reader {
  /** Something that its client said has come, and is not heard yet. */
  readonly isBehind: boolean;
  sendNow(frames: readonly OutFrame[]): void;
  /** Behind what was sent. */
  ping(data: string): void;
}

/** Storage that has left for it. */
export interface StorageSent {
  /** Monotonic. */
  readonly leftAtMs: number;
  readonly characters: number;
}

interface Held {
  readonly frame: OutFrame;
  /** The edits of texts that it answers. */
  readonly edits: readonly string[];
  readonly bytes: number;
  readonly untilMs: number;
}

/** From arrived to read, and the answer to it on its way: a turn or two of a busy page, and what it takes to read so many characters. */
const READ_MS_MIN = 200;
const READ_CHARACTERS_PER_MS = 20_000;
/** Nothing is held for longer, and no answer with more behind it: a text takes edits of a thousand versions ago (LT8). */
export const HELD_MS_MAX = 10_000;
const HELD_BYTES_MAX = 64 * 1024;

export class HeldAnswers {
  readonly #reader: Reader;
  readonly #clock: Pick<Clock, 'monotonicMs' | 'after' | 'soon'>;
  /** Edits of texts that the room was told, by op id, and how many answers to each are still to come from it. */
  readonly #toCome = new SmallMap<string, number>();
  /** What left last, until it is read for sure. */
  #unread: StorageSent | null = null;
  /** When the client must have read it. */
  #readByMs = 0;
  #pings = 0;
  #pongs = 0;
  #held: Held[] = [];
  #heldBytes = 0;
  #stopTimer: (() => void) | null = null;

  /** Begins with the first edit of a text; `last` is the Storage that left before it, if any did. */
  constructor({ reader, clock, last }: { reader: Reader; clock: Clock; last: StorageSent | null }) {
    this.#reader = reader;
    this.#clock = clock;
    if (last === null || clock.monotonicMs() >= last.leftAtMs + HELD_MS_MAX) return;
    this.#noteLeaving(last);
    this.#ping();
  }

  /** The room hears these ops of the client. */
  told(ops: readonly Op[]): void {
    for (const op of ops)
      if (isTextEdit(op) && op.opId !== undefined) this.#toCome.set(op.opId, (this.#toCome.get(op.opId) ?? 0) + 1);
  }

  /** What may leave, when these frames are next: they, or others that came before, or nothing. The rest leaves by itself, in order. */
  take(frames: readonly OutFrame[]): readonly OutFrame[] {
    const free: OutFrame[] = [];
    for (const frame of frames) {
      const edits = this.#editsAnsweredBy(frame);
      if (this.#held.length > 0 || this.#waits({ edits, behind: 0 })) this.#hold(frame, edits);
      else {
        this.#noteLeavingFrame(frame);
        free.push(frame);
      }
    }
    return this.#held.length === 0 ? free : [...free, ...this.#takeFree()];
  }

  /** These have left. */
  left(frames: readonly OutFrame[]): void {
    if (frames.some(({ restarts }) => restarts)) this.#ping();
  }

  /** A ping is answered: what was sent before it has arrived. */
  ponged(data: string): void {
    if (data !== String(this.#pings) || this.#pongs === this.#pings || this.#unread === null) return;
    this.#pongs = this.#pings;
    this.#readByMs = this.#clock.monotonicMs() + msToRead(this.#unread);
    this.#setTimer();
  }

  /** The session is over: what is held is said again to the next one, as far as it counts. */
  forget(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#toCome.clear();
    this.#unread = null;
    this.#setTimer();
  }

  #ping(): void {
    this.#pings += 1;
    this.#reader.ping(String(this.#pings));
  }

  #noteLeavingFrame({ restarts, data }: OutFrame): void {
    if (restarts) this.#noteLeaving({ leftAtMs: this.#clock.monotonicMs(), characters: lengthOf(data) });
  }

  #noteLeaving(storage: StorageSent): void {
    this.#unread = storage;
    this.#readByMs = storage.leftAtMs + HELD_MS_MAX;
  }

  /** How long the first Storage of those that are held is, does not matter: what was sent again is often answered with one. */
  #hold(frame: OutFrame, edits: readonly string[]): void {
    const bytes = frame.restarts && !this.#held.some((held) => held.frame.restarts) ? 0 : lengthOf(frame.data);
    this.#held.push({ frame, edits, bytes, untilMs: this.#clock.monotonicMs() + HELD_MS_MAX });
    this.#heldBytes += bytes;
  }

  /** A refusal of an edit is not held: behind what came again it would take that away, too. */
  #editsAnsweredBy({ answers, refuses }: OutFrame): readonly string[] {
    for (const opId of refuses ?? NONE) this.#countDown(opId);
    return answers?.filter((opId) => this.#countDown(opId)) ?? NONE;
  }

  /** Returns whether it is an edit of a text, whose answer was to come. */
  #countDown(opId: string): boolean {
    const count = this.#toCome.get(opId);
    if (count === undefined) return false;
    if (count === 1) this.#toCome.delete(opId);
    else this.#toCome.set(opId, count - 1);
    return true;
  }

  #takeFree(): OutFrame[] {
    const free: OutFrame[] = [];
    for (const { frame, edits, bytes, untilMs } of this.#held) {
      const isOver = this.#clock.monotonicMs() >= untilMs;
      if (!isOver && this.#waits({ edits, behind: this.#heldBytes - bytes })) break;
      free.push(frame);
      this.#noteLeavingFrame(frame);
      this.#heldBytes -= bytes;
    }
    this.#held.splice(0, free.length);
    if (free.length > 0 || this.#stopTimer === null) this.#setTimer();
    return free;
  }

  /** `behind`: how much is held behind it. */
  #waits({ edits, behind }: { edits: readonly string[]; behind: number }): boolean {
    if (edits.length === 0 || behind > HELD_BYTES_MAX) return false;
    return this.#unread !== null || this.#reader.isBehind || edits.some((opId) => this.#toCome.has(opId));
  }

  #setTimer(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
    const [first] = this.#held;
    if (first === undefined) return;
    const nowMs = this.#clock.monotonicMs();
    const nextMs = this.#unread === null || this.#reader.isBehind ? nowMs + READ_MS_MIN : Math.max(nowMs, this.#readByMs);
    this.#stopTimer = this.#clock.after(Math.min(nextMs, first.untilMs) - nowMs, () => this.#clock.soon(() => this.#goOn()));
  }

  /** In a turn after the one in which the time was over, however long that was: what arrived here meanwhile is heard, and may be the edit again. */
  #goOn(): void {
    this.#stopTimer = null;
    if (this.#clock.monotonicMs() >= this.#readByMs && !this.#reader.isBehind) this.#unread = null;
    this.#reader.sendNow(this.#takeFree());
  }
}

const NONE: readonly string[] = [];

/** From when it has arrived. */
export function msToRead({ characters }: Pick<StorageSent, 'characters'>): number {
  return READ_MS_MIN + Math.floor(characters / READ_CHARACTERS_PER_MS);
}

export function isTextEdit({ type }: Op): boolean {
  return type === OP.UPDATE_TEXT;
}
