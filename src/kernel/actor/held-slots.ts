/**
 * Actors whose commands took long lately, one after the other: in each turn of the event loop one of them runs what waits for it, for a slice. However many there
 * are, and however much was told to them in one frame, everybody else waits for one slice, or one long command, in a turn.
 *
 * Commands are measured, not guessed: what a command costs depends on what its actor has become.
 */
import type { Clock } from '../../base/clock.ts';
import type { Total } from './waiting.ts';

export interface Holdable {
  readonly key: string;
  /** Whether something waits that it could run now. */
  readonly hasWork: boolean;
  /** Runs one of its commands, and more until `endMs` (monotonic). */
  runUntil(endMs: number): void;
  /** Commands are for it again the moment they come. */
  release(): void;
}

export interface HeldSlotsDeps {
  readonly clock: Pick<Clock, 'monotonicMs' | 'soon'>;
  readonly onHeld: (key: string) => void;
  readonly onError: (error: unknown, key: string) => void;
}

/** Shorter ones never count: too many of them are the affair of whoever lets them in, and who is merely busy is not held. */
export const LONG_MS = 0.25;
/** Long ones may take so much together ... */
export const SLICE_MS = 25;
/** ... within so long, before what comes next waits for its turn. */
export const WINDOW_MS = 100;

export class HeldSlots implements Total {
  readonly #deps: HeldSlotsDeps;
  readonly #queue: Holdable[] = [];
  /** Of what waits for held actors. */
  bytes = 0;

  constructor(deps: HeldSlotsDeps) {
    this.#deps = deps;
  }

  get size(): number {
    return this.#queue.length;
  }

  nowMs(): number {
    return this.#deps.clock.monotonicMs();
  }

  /** What comes for `slot` waits from now on, until it is released in one of its turns. */
  hold(slot: Holdable): void {
    this.#queue.push(slot);
    if (this.#queue.length === 1) this.#turnSoon();
    this.#deps.onHeld(slot.key);
  }

  #turnSoon(): void {
    this.#deps.clock.soon(() => this.#turn());
  }

  /** Who has nothing to run passes its turn on. One that has stays held for a turn after its last command: what it did counts for that one. */
  #turn(): void {
    let slot = this.#queue.shift();
    while (slot?.hasWork === false) {
      slot.release();
      slot = this.#queue.shift();
    }
    if (slot === undefined) return;
    this.#queue.push(slot);
    this.#turnSoon();
    try {
      slot.runUntil(this.nowMs() + SLICE_MS);
    } catch (error) {
      this.#deps.onError(error, slot.key); // of one command; the others have their turns
    }
  }
}
