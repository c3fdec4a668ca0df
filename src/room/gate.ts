/**
 * What may be told only once it is durable: it waits here, in order, for the version it was decided at (design §4, the gate).
 *
 * It knows neither journal nor sockets. How much waits is counted, because an answer can be as large as the room.
 */
import type { AppError } from '../base/errors.ts';
import { bytesIn, isPieces } from '../base/pieces.ts';
import { SmallMap } from '../base/small.ts';

export interface Gated {
  readonly release: () => void;
  /** What happens instead when the room is lost first. */
  readonly refuse?: (error: AppError) => void;
  /** About how much memory it holds. */
  readonly bytes?: number;
  /** Whose memory that is, where several may wait with the same: it is counted once. */
  readonly shared?: object | null;
}

/** Who asked, and waits. */
export interface Answer {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: AppError) => void;
}

/** What an answer holds: text; or bytes, in pieces or not, which others may wait with, too. Whatever else is answered is small. Texts that share pieces count each for itself. */
export function heldBy(value: unknown): { readonly bytes: number; readonly shared: object | null } {
  if (value instanceof Uint8Array) return { bytes: value.length, shared: value };
  if (isPieces(value)) return { bytes: bytesIn(value), shared: value };
  if (typeof value === 'string') return { bytes: value.length, shared: null };
  return typeof value === 'object' && value !== null && 'lines' in value ? heldBy(value.lines) : NOTHING;
}

const NOTHING = { bytes: 0, shared: null };

export class Gate {
  #durable: number;
  #waiting: { readonly version: number; readonly gated: Gated }[] = [];
  #bytes = 0;
  /** How many wait with it. */
  readonly #sharers = new SmallMap<object, number>();

  /** @param durable the version that is in the journal already */
  constructor(durable: number) {
    this.#durable = durable;
  }

  get durable(): number {
    return this.#durable;
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** Releases at once what is durable; versions never fall, so nothing overtakes. */
  pass(version: number, gated: Gated): void {
    if (this.#durable >= version) {
      gated.release();
      return;
    }
    this.#waiting.push({ version, gated });
    this.#hold(gated);
  }

  /** Where a release throws, so does this: those behind it stay, to be refused. */
  open(durable: number): void {
    this.#durable = durable;
    if (this.#waiting.length === 0) return;
    let count = 0;
    while (count < this.#waiting.length && this.#waiting[count]!.version <= durable) count += 1;
    const durables = this.#waiting.splice(0, count);
    let next = 0;
    try {
      while (next < count) {
        const { gated } = durables[next]!;
        next += 1;
        this.#letGo(gated);
        gated.release();
      }
    } finally {
      if (next < count) this.#waiting = [...durables.slice(next), ...this.#waiting];
    }
  }

  /** Those who wait for an answer hear this instead; what is for sessions stays. */
  refuseAnswers(error: AppError): void {
    const refused = this.#waiting.filter(({ gated }) => gated.refuse !== undefined);
    this.#waiting = this.#waiting.filter(({ gated }) => gated.refuse === undefined);
    for (const { gated } of refused) {
      this.#letGo(gated);
      gated.refuse?.(error);
    }
  }

  refuseAll(error: AppError): void {
    for (const { gated } of this.#waiting.splice(0)) {
      this.#letGo(gated);
      gated.refuse?.(error);
    }
  }

  #hold({ bytes = 0, shared = null }: Gated): void {
    if (shared === null) {
      this.#bytes += bytes;
      return;
    }
    const sharers = this.#sharers.get(shared) ?? 0;
    if (sharers === 0) this.#bytes += bytes;
    this.#sharers.set(shared, sharers + 1);
  }

  #letGo({ bytes = 0, shared = null }: Gated): void {
    const left = shared === null ? 0 : this.#sharers.get(shared)! - 1;
    if (left === 0) this.#bytes -= bytes;
    if (shared === null) return;
    if (left > 0) this.#sharers.set(shared, left);
    else this.#sharers.delete(shared);
  }
}
