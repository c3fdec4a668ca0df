/**
 * The Storage ops of one client that are not answered yet: what it will send again once it has read a new snapshot, all of them and in order
 * (protocol 6.1).
 *
 * After its session has joined anew, ops are held back until the oldest of these comes by again. What the client sends before it has read the
 * snapshot would otherwise be applied before what was lost, and would build on what is not there.
 */
import type { Clock } from '../base/clock.ts';
import { SmallSet } from '../base/small.ts';
import { lengthOf } from '../kernel/transport/frame.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import type { Op } from '../protocol/storage-ops.ts';
import { HeldAnswers, isTextEdit, type Reader, type StorageSent } from './held-answers.ts';
import type { Command } from './shapes.ts';

/** Ops of one client that may wait for the room's answers when it sends more: a frame of FRAME_BYTES_MAX holds up to 300,000, and a room answers in a commit, or seconds after it (`held-answers.ts`). */
const OPS_MAX = 500_000;
const NONE: readonly string[] = [];

export class Unanswered {
  readonly #client: Reader;
  readonly #clock: Clock;
  /** Null while the client has written nothing. */
  #opIds: Set<string> | null = null;
  /** The op that the client begins with when it sends all of them again. */
  #awaited: string | null = null;
  /** Null until the client edits a text. */
  #held: HeldAnswers | null = null;
  /** Before that. */
  #lastStorage: StorageSent | null = null;

  constructor(client: Reader, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Whether no more may come before some are answered. */
  get isFull(): boolean {
    return this.#opIds !== null && this.#opIds.size > OPS_MAX;
  }

  get isAwaiting(): boolean {
    return this.#awaited !== null;
  }

  /** Whether the room is to hear the command now, which the caller then sees to; if not, the client will send it again. */
  passes(command: Command): boolean {
    if (command.type !== 'storage.change') return true;
    if (this.#awaited !== null) {
      if (!command.ops.some(({ opId }) => opId === this.#awaited)) return false;
      this.#awaited = null;
      this.#opIds = null; // what the client does not send again, it does not wait for
    }
    this.note(command);
    this.#noteTexts(command.ops);
    return true;
  }

  #noteTexts(ops: readonly Op[]): void {
    if (this.#held === null && ops.some(isTextEdit)) {
      this.#held = new HeldAnswers({ reader: this.#client, clock: this.#clock, last: this.#lastStorage });
      this.#lastStorage = null;
    }
    this.#held?.told(ops);
  }

  /** The client waits for the answers to its ops, though nobody has heard them. */
  note(command: Command): void {
    if (command.type !== 'storage.change') return;
    this.#opIds ??= new SmallSet();
    for (const { opId } of command.ops) if (opId !== undefined) this.#opIds.add(opId);
  }

  /** What may leave for the client, when these frames are next. */
  take(frames: readonly OutFrame[]): readonly OutFrame[] {
    return this.#held?.take(frames) ?? frames;
  }

  /** These frames have left. */
  left(frames: readonly OutFrame[]): void {
    if (this.#held === null) this.#noteStorage(frames);
    else this.#held.left(frames);
    if (this.#opIds === null) return;
    for (const { answers = NONE, refuses = NONE } of frames) {
      for (const opId of answers) this.#opIds.delete(opId);
      for (const opId of refuses) this.#opIds.delete(opId);
    }
  }

  #noteStorage(frames: readonly OutFrame[]): void {
    for (const { restarts, data } of frames)
      if (restarts) this.#lastStorage = { leftAtMs: this.#clock.monotonicMs(), characters: lengthOf(data) };
  }

  /** A ping that was sent for `HeldAnswers` is answered. */
  ponged(data: string): void {
    this.#held?.ponged(data);
  }

  /** The session is over. */
  end(): void {
    this.#held?.forget();
    this.#lastStorage = null;
  }

  /** The session has joined anew. */
  rejoined(): void {
    const [oldest] = this.#opIds ?? [];
    this.#awaited = oldest ?? null;
  }
}
