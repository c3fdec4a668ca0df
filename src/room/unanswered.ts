/**
 * The Storage ops of one client that are not answered yet: what it will send again once it has read a new snapshot, all of them and in order
 * (protocol 6.1).
 *
 * After its session has joined anew, ops are held back until the oldest of these comes by again. What the client sends before it has read the
 * snapshot would otherwise be applied before what was lost, and would build on what is not there.
 */
import type { Clock } from '../base/clock.ts';
import { AppError } from '../base/errors.ts';
import { SmallSet } from '../base/small.ts';
import { lengthOf } from '../kernel/transport/frame.ts';
import type { OutFrame } from '../kernel/transport/send-budget.ts';
import type { Op } from '../protocol/storage-ops.ts';
import { type Change, EarlyOps, type Speaking } from './early-ops.ts';
import { HeldAnswers, isTextEdit, type StorageSent } from './held-answers.ts';
import { RESEND_MS_MAX } from './rejoin.ts';
import type { Command } from './shapes.ts';

/** The connection of that client. */
export interface Client extends Speaking {
  pass(commands: readonly Command[]): void;
}

/** Ops of one client that may wait for the room's answers when it sends more: a frame of FRAME_BYTES_MAX holds up to 300,000, and a room answers in a commit, or seconds after it (`held-answers.ts`). */
const OPS_MAX = 500_000;
const NONE: readonly string[] = [];

export class Unanswered {
  readonly #client: Client;
  readonly #clock: Clock;
  /** Until it has shown that all that is older than what it sends was heard or answered, then null; undefined as long as nothing was sent either way. */
  #early: EarlyOps | null | undefined;
  #hasAsked = false;
  /** Null while the client has written nothing. */
  #opIds: Set<string> | null = null;
  /** The op that the client begins with when it sends all of them again. */
  #awaited: string | null = null;
  #stopAwaiting: (() => void) | null = null;
  /** Null until the client edits a text. */
  #held: HeldAnswers | null = null;
  /** Before that. */
  #lastStorage: StorageSent | null = null;

  constructor(client: Client, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** Made when it is needed: most connections of a crowd never write. */
  #earlyOps(): EarlyOps | null {
    if (this.#early === undefined) this.#early = this.#newEarly('in order');
    return this.#early;
  }

  #newEarly(until: 'in order' | 'there'): EarlyOps {
    const release = (changes: readonly Change[]): void => {
      this.#early = null;
      this.#client.pass(changes);
    };
    return new EarlyOps({ until, client: this.#client, clock: this.#clock, release });
  }

  /** Whether no more may come before some are answered. */
  get isFull(): boolean {
    return this.#opIds !== null && this.#opIds.size > OPS_MAX;
  }

  /** Whether the room is to hear the command now, which the caller then sees to; if not, it is passed later, or the client will send it again. */
  passes(command: Command): boolean {
    if (command.type === 'storage.fetch') this.#hasAsked = true;
    if (command.type !== 'storage.change') return true;
    const early = this.#earlyOps();
    if (early !== null && !this.#comesInOrder(early, command)) return false;
    if (this.#awaited !== null) {
      if (!command.ops.some(({ opId }) => opId === this.#awaited)) return false;
      this.#awaited = null;
      this.#opIds = null; // what the client does not send again, it does not wait for
    }
    this.note(command);
    this.#noteTexts(command.ops);
    return true;
  }

  #comesInOrder(early: EarlyOps, change: Change): boolean {
    const before = early.before(change, { hasAsked: this.#hasAsked });
    if (before !== null) {
      this.#opIds = null; // all that was held is in these
      if (change.ops.some(({ opId }) => opId !== undefined)) this.#early = null;
      this.#client.pass(before);
      return true;
    }
    this.note(change);
    if (!early.hold(change)) this.#client.refuse(new AppError('ROOM_OVERLOADED'));
    return false;
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
    if (this.#early !== null && frames.some(({ restarts }) => restarts)) this.#earlyOps()?.leaves();
    return this.#held?.take(frames) ?? frames;
  }

  /** These frames have left. */
  left(frames: readonly OutFrame[]): void {
    for (const { restarts, data } of frames)
      if (restarts) this.#noteStorage({ leftAtMs: this.#clock.monotonicMs(), characters: lengthOf(data) });
    this.#held?.left(frames);
    if (this.#opIds === null) return;
    for (const { answers = NONE, refuses = NONE } of frames) {
      for (const opId of answers) this.#opIds.delete(opId);
      for (const opId of refuses) this.#opIds.delete(opId);
    }
  }

  #noteStorage(storage: StorageSent): void {
    if (this.#held === null) this.#lastStorage = storage;
    this.#early?.left(storage);
  }

  /** A ping that was sent from here is answered. */
  ponged(data: string): void {
    this.#held?.ponged(data);
    this.#early?.ponged(data);
  }

  /** The session is over. */
  end(): void {
    this.#held?.forget();
    this.#early?.end();
    this.#lastStorage = null;
    this.#stopAwaiting?.();
  }

  /** The client has left, and its session not yet: what was held is heard, and not answered. */
  heardLast(): void {
    const changes = this.#early?.last() ?? [];
    this.#early = null;
    this.#client.pass(changes);
  }

  /** The session has joined anew. */
  rejoined(): void {
    const [oldest] = this.#early === null ? (this.#opIds ?? []) : []; // otherwise the former one has heard nothing
    this.#awaited = oldest ?? null;
    if (this.#awaited !== null) this.#endUnlessAnswered();
    else if (this.#early === null && this.#hasAsked) this.#early = this.#newEarly('there');
    this.#early?.rejoined();
  }

  /** A client that does not send again what it was never answered is helped by a new connection alone. */
  #endUnlessAnswered(): void {
    this.#stopAwaiting = this.#clock.after(RESEND_MS_MAX, () => {
      if (this.#awaited === null) return;
      if (this.#client.isBehind)
        this.#endUnlessAnswered(); // what it sent may be among what waits
      else this.#client.refuse(new AppError('ROOM_MOVED'));
    });
  }
}
