/** The place of one actor on this worker, from the first command for it until it is down. */
import type { Recall } from '../cluster/ownership.ts';
import type { Actor } from './actor.ts';
import { type HeldSlots, type Holdable, LONG_MS, SLICE_MS, WINDOW_MS } from './held-slots.ts';
import { WaitingCommands } from './waiting.ts';

/** The way to an actor, for who tells it much: the actor need not be looked up for each command. */
export interface Line<Command> {
  /**
   * False while the actor cannot hear it at once, and for good when it is gone: nothing was told, and whoever knows the key may find another way.
   */
  tell(command: Command): boolean;
}

export class Slot<Command> implements Line<Command>, Holdable {
  readonly key: string;
  readonly #held: HeldSlots;
  /** Null while it loads, and when it is gone. */
  actor: Actor<Command> | null = null;
  /** Commands that arrived before the actor was ready, or while it is held, in order. */
  readonly waiting: WaitingCommands<Command>;
  /** So many of these were there before the load began to look. */
  early = 0;
  /** What came while it loaded; null while that is nothing, and when it is up. */
  #recalls: Recall[] | null = null;
  /** Settles, never rejects, when the load is over. */
  loaded: Promise<void> = Promise.resolve();
  /** Settles, never rejects, when the actor is down; null while it is up. */
  stopped: Promise<void> | null = null;
  /** It was seen idle, and its turn to stop has not come. */
  isIdle = false;
  /** It goes to another worker: who waits for the end of the stop is to follow it. */
  isMoving = false;
  /** Its commands took long: they have their turns. */
  isHeld = false;
  /** What long commands took since then. */
  #spentMs = 0;
  #sinceMs = Number.NEGATIVE_INFINITY;

  constructor(key: string, held: HeldSlots) {
    this.key = key;
    this.#held = held;
    this.waiting = new WaitingCommands(held);
  }

  get isUp(): boolean {
    return this.actor !== null && this.stopped === null;
  }

  /** Whether a command is decided the moment it comes: nothing overtakes what waits. */
  get hears(): boolean {
    return this.isUp && !this.isHeld && this.waiting.length === 0;
  }

  get hasWork(): boolean {
    return this.isUp && this.waiting.length > 0;
  }

  tell(command: Command): boolean {
    if (!this.hears) return false;
    const startedMs = this.#held.nowMs();
    try {
      this.actor!.tell(command);
    } finally {
      this.#count(startedMs);
    }
    return true;
  }

  /** Only where it `hears`. @throws AppError the refusal, in the same turn */
  act(command: Command): Promise<unknown> {
    const startedMs = this.#held.nowMs();
    try {
      return this.actor!.act(command);
    } finally {
      this.#count(startedMs);
    }
  }

  /** Whether its actor is meant is known when it has loaded: it may have been claimed before, or after. */
  recall(recalls: readonly Recall[]): void {
    const { actor } = this; // of its slot no more after the recall that it goes with
    if (actor === null) this.#recalls = [...(this.#recalls ?? []), ...recalls];
    else for (const recall of recalls) actor.recall(recall);
  }

  /** Its actor has loaded, and hears what came meanwhile, which it may go with. */
  begin(actor: Actor<Command>): void {
    const recalls = this.#recalls ?? [];
    this.actor = actor;
    this.#recalls = null;
    this.recall(recalls);
  }

  /** What waited for the load; where that takes long the rest has its turns. */
  runLoaded(): void {
    while (this.hasWork && !this.isHeld) {
      const startedMs = this.#held.nowMs();
      try {
        this.#runNext();
      } finally {
        this.#count(startedMs);
      }
    }
  }

  runUntil(endMs: number): void {
    do this.#runNext();
    while (this.hasWork && this.#held.nowMs() < endMs);
  }

  release(): void {
    this.isHeld = false;
    this.#spentMs = 0;
    this.#sinceMs = Number.NEGATIVE_INFINITY;
  }

  #runNext(): void {
    this.waiting.shift()!.run(this.actor!);
  }

  #count(startedMs: number): void {
    const tookMs = this.#held.nowMs() - startedMs;
    if (tookMs >= LONG_MS) this.#countLong(startedMs, tookMs);
  }

  #countLong(startedMs: number, tookMs: number): void {
    if (startedMs - this.#sinceMs >= WINDOW_MS) {
      this.#sinceMs = startedMs;
      this.#spentMs = 0;
    }
    this.#spentMs += tookMs;
    if (this.#spentMs <= SLICE_MS || this.isHeld || !this.isUp) return;
    this.isHeld = true;
    this.#held.hold(this);
  }
}
