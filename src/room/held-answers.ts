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
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import { OP, type Op } from '../protocol/storage-ops.ts';
import type { Speaker } from './intake.ts';

/** The connection of that client. */
export interface Reader extends Pick<Speaker, 'waiting'> {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after' | 'soon'>;
  sendNow(frames: readonly OutFrame[]): void;
  /** Behind what was sent. */
  ping(data: string): void;
}

interface Held {
  readonly frame: OutFrame;
  /** The edits of texts that it answers. */
  readonly edits: readonly string[];
  readonly cameAtMs: number;
}

/** From arrived to read, and the answer to it on its way: a turn or two of a busy page, and what it takes to read so many bytes. */
const READ_MS_MIN = 200;
const READ_BYTES_PER_MS = 20_000;
/** Nothing is held for longer, and no answer with more behind it: a text takes edits of a thousand versions ago (LT8). */
const HELD_MS_MAX = 10_000;
const HELD_BYTES_MAX = 64 * 1024;

export class HeldAnswers {
  readonly #reader: Reader;
  /** Edits of texts that the room was told, by op id, and how many answers to each are still to come from it. */
  readonly #toCome = new SmallMap<string, number>();
  #pings = 0;
  /** When the client must have read the Storage that left last. */
  #readByMs = Number.NEGATIVE_INFINITY;
  #lengthOfLast = 0;
  #held: Held[] = [];
  #heldBytes = 0;
  #stopTimer: (() => void) | null = null;

  constructor(reader: Reader) {
    this.#reader = reader;
  }

  /** The room hears these ops of the client. */
  told(ops: readonly Op[]): void {
    for (const { type, opId } of ops)
      if (type === OP.UPDATE_TEXT && opId !== undefined) this.#toCome.set(opId, (this.#toCome.get(opId) ?? 0) + 1);
  }

  /** What may leave, when these frames are next: they, or others that came before, or nothing. The rest leaves by itself, in order. */
  take(frames: readonly OutFrame[]): readonly OutFrame[] {
    if (this.#held.length === 0 && this.#toCome.size === 0) {
      for (const frame of frames) this.#noteLeaving(frame);
      return frames;
    }
    const cameAtMs = this.#nowMs;
    for (const frame of frames) {
      this.#held.push({ frame, edits: this.#editsAnsweredBy(frame), cameAtMs });
      this.#heldBytes += bytesOf(frame);
    }
    return this.#takeFree();
  }

  /** These have left. */
  left(frames: readonly OutFrame[]): void {
    if (!frames.some(({ restarts }) => restarts)) return;
    this.#pings += 1;
    this.#reader.ping(String(this.#pings));
  }

  /** A ping is answered: what was sent before it has arrived. */
  ponged(data: string): void {
    if (data !== String(this.#pings)) return;
    this.#readByMs = this.#nowMs + READ_MS_MIN + Math.floor(this.#lengthOfLast / READ_BYTES_PER_MS);
    this.#setTimer();
  }

  /** The session is over: what is held is said again to the next one, as far as it counts. */
  forget(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#toCome.clear();
    this.#readByMs = Number.NEGATIVE_INFINITY;
    this.#setTimer();
  }

  get #nowMs(): number {
    return this.#reader.clock.monotonicMs();
  }

  #noteLeaving({ restarts, data }: OutFrame): void {
    if (!restarts) return;
    this.#readByMs = this.#nowMs + HELD_MS_MAX;
    this.#lengthOfLast = data.length;
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
    for (const held of this.#held) {
      if (this.#waits(held)) break;
      free.push(held.frame);
      this.#noteLeaving(held.frame);
      this.#heldBytes -= bytesOf(held.frame);
    }
    this.#held.splice(0, free.length);
    if (free.length > 0 || this.#stopTimer === null) this.#setTimer();
    return free;
  }

  #waits({ edits, cameAtMs }: Held): boolean {
    if (edits.length === 0 || this.#heldBytes > HELD_BYTES_MAX || this.#nowMs >= cameAtMs + HELD_MS_MAX) return false;
    return this.#nowMs < this.#readByMs || this.#reader.waiting !== null || edits.some((opId) => this.#toCome.has(opId));
  }

  #setTimer(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
    const [first] = this.#held;
    if (first === undefined) return;
    const nowMs = this.#nowMs;
    const nextMs = nowMs < this.#readByMs ? this.#readByMs : nowMs + READ_MS_MIN;
    this.#stopTimer = this.#reader.clock.after(Math.min(nextMs, first.cameAtMs + HELD_MS_MAX) - nowMs, () => this.#goOn());
  }

  /** Once what has arrived here meanwhile is heard, however long this turn was: it may be the edit again. */
  #goOn(): void {
    this.#stopTimer = null;
    this.#reader.clock.soon(() => this.#reader.sendNow(this.#takeFree()));
  }
}

const NONE: readonly string[] = [];

/** Of Storage it does not matter how long it is. */
function bytesOf({ data, restarts }: OutFrame): number {
  return restarts ? 0 : data.length;
}
