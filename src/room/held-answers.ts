/**
 * Answers to edits of texts that wait until their client must have read the Storage that left before them; and after such an answer, all that follows.
 *
 * An SDK client that reads Storage sends again what is not answered, and of a text also what was typed since, under the op id of the edit that went
 * before (protocol 6.1, 6.3). An answer to that edit which comes only then makes it forget the rest, too: were the room's owner lost before the rest is
 * written down, nobody would bring it again. So the two answers leave together. Others are told of an edit as soon as it is written down.
 */
import type { Clock } from '../base/clock.ts';
import { SmallMap } from '../base/small.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import { OP, type Op } from '../protocol/storage-ops.ts';

export interface Reader {
  readonly clock: Pick<Clock, 'monotonicMs' | 'after'>;
  /** Monotonic time at which it was told that it is in. */
  readonly enteredAtMs: number;
  sendNow(frames: readonly OutFrame[]): void;
}

interface Held {
  readonly frame: OutFrame;
  /** The edits of texts that it answers. */
  readonly edits: readonly string[];
}

/** How long a client takes to read Storage and to answer: its round trip as seen when it came, several times, and the bytes' own time on the wire. */
const READ_MS_MIN = 100;
const ROUND_TRIPS = 4;
const ROUND_MS_MAX = 250;
const BYTES_PER_MS = 1_000;
/** No answer is held for longer, and beyond so much none: they leave, whatever is still to come. */
const HELD_MS_MAX = 10_000;
const HELD_BYTES_MAX = 1024 * 1024;
const BYTES_BESIDE = 256;

export class HeldAnswers {
  readonly #reader: Reader;
  readonly #roundMs: number;
  /** Edits of texts that the room was told, by op id, and how many answers to each are still to come from it. */
  readonly #toCome = new SmallMap<string, number>();
  /** When the client must have read the Storage that left last. */
  #readByMs = Number.NEGATIVE_INFINITY;
  #held: Held[] = [];
  #heldBytes = 0;
  /** When the first of them came, or came to be the first. */
  #sinceMs = 0;
  #stopTimer: (() => void) | null = null;

  /** For a client that asks for Storage for the first time, at this monotonic time. */
  constructor(reader: Reader, askedAtMs: number) {
    this.#reader = reader;
    this.#roundMs = Math.min(askedAtMs - reader.enteredAtMs, ROUND_MS_MAX);
  }

  /** The room hears these ops of the client. */
  told(ops: readonly Op[]): void {
    for (const { type, opId } of ops)
      if (type === OP.UPDATE_TEXT && opId !== undefined) this.#toCome.set(opId, (this.#toCome.get(opId) ?? 0) + 1);
  }

  /** What may leave, when these frames are next: they, or others that came before, or nothing. The rest leaves by itself, in order. */
  take(frames: readonly OutFrame[]): readonly OutFrame[] {
    if (this.#held.length === 0 && this.#toCome.size === 0) {
      for (const frame of frames) this.#noteLeft(frame);
      return frames;
    }
    if (this.#held.length === 0) this.#sinceMs = this.#nowMs;
    for (const frame of frames) {
      this.#held.push({ frame, edits: this.#editsAnsweredBy(frame) });
      this.#heldBytes += bytesOf(frame);
    }
    return this.#takeFree();
  }

  /** The session is over: what is held is said again to the next one, as far as it counts. */
  forget(): void {
    this.#stopTimer?.();
    this.#stopTimer = null;
    this.#held = [];
    this.#heldBytes = 0;
    this.#toCome.clear();
    this.#readByMs = Number.NEGATIVE_INFINITY;
  }

  get #nowMs(): number {
    return this.#reader.clock.monotonicMs();
  }

  #noteLeft({ restarts, data }: OutFrame): void {
    if (restarts)
      this.#readByMs = this.#nowMs + READ_MS_MIN + ROUND_TRIPS * this.#roundMs + Math.floor(data.length / BYTES_PER_MS);
  }

  #editsAnsweredBy({ answers }: OutFrame): readonly string[] {
    const edits = answers?.filter((opId) => this.#toCome.has(opId)) ?? [];
    for (const opId of edits) {
      const left = this.#toCome.get(opId)! - 1;
      if (left === 0) this.#toCome.delete(opId);
      else this.#toCome.set(opId, left);
    }
    return edits;
  }

  #takeFree(): OutFrame[] {
    const free: OutFrame[] = [];
    for (const { frame, edits } of this.#held) {
      if (this.#waits(edits)) break;
      free.push(frame);
      this.#noteLeft(frame);
      this.#heldBytes -= bytesOf(frame);
      this.#sinceMs = this.#nowMs;
    }
    this.#held.splice(0, free.length);
    if (free.length > 0) this.#stopTimer?.();
    if (free.length > 0) this.#stopTimer = null;
    if (this.#held.length > 0) this.#stopTimer ??= this.#reader.clock.after(this.#waitMs, () => this.#goOn());
    return free;
  }

  #waits(edits: readonly string[]): boolean {
    if (edits.length === 0 || this.#heldBytes > HELD_BYTES_MAX || this.#nowMs >= this.#sinceMs + HELD_MS_MAX) return false;
    return this.#nowMs < this.#readByMs || edits.some((opId) => this.#toCome.has(opId));
  }

  /** Of the first, unless what is still to come comes before. */
  get #waitMs(): number {
    const endsAtMs = this.#sinceMs + HELD_MS_MAX;
    return (this.#nowMs < this.#readByMs ? Math.min(this.#readByMs, endsAtMs) : endsAtMs) - this.#nowMs;
  }

  #goOn(): void {
    this.#stopTimer = null;
    this.#reader.sendNow(this.#takeFree());
  }
}

function bytesOf({ data }: OutFrame): number {
  return data.length + BYTES_BESIDE;
}
