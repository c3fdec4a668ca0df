/**
 * What may be told only once it is durable: it waits here, in order, for the version it was decided at (design §4, the gate).
 *
 * It knows neither journal nor sockets. How much waits is counted, because an answer can be as large as the room.
 */
import type { AppError } from '../base/errors.ts';

export interface Gated {
  readonly release: () => void;
  /** What happens instead when the room is lost first. */
  readonly refuse?: (error: AppError) => void;
  /** About how much memory it holds. */
  readonly bytes?: number;
}

/** Who asked, and waits. */
export interface Answer {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: AppError) => void;
}

/** Of text and bytes; whatever else is answered is small. */
export function bytesOfAnswer(value: unknown): number {
  if (typeof value === 'string' || value instanceof Uint8Array) return value.length;
  if (typeof value !== 'object' || value === null) return 0;
  return 'lines' in value ? bytesOfAnswer(value.lines) : 0;
}

export class Gate {
  #durable: number;
  #waiting: { readonly version: number; readonly gated: Gated }[] = [];
  #bytes = 0;

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
    this.#bytes += gated.bytes ?? 0;
  }

  open(durable: number): void {
    this.#durable = durable;
    if (this.#waiting.length === 0) return;
    let count = 0;
    while (count < this.#waiting.length && this.#waiting[count]!.version <= durable) count += 1;
    for (const { gated } of this.#waiting.splice(0, count)) {
      this.#bytes -= gated.bytes ?? 0;
      gated.release();
    }
  }

  /** Those who wait for an answer hear this instead; what is for sessions stays. */
  refuseAnswers(error: AppError): void {
    const refused = this.#waiting.filter(({ gated }) => gated.refuse !== undefined);
    this.#waiting = this.#waiting.filter(({ gated }) => gated.refuse === undefined);
    for (const { gated } of refused) {
      this.#bytes -= gated.bytes ?? 0;
      gated.refuse?.(error);
    }
  }

  refuseAll(error: AppError): void {
    this.#bytes = 0;
    for (const { gated } of this.#waiting.splice(0)) gated.refuse?.(error);
  }
}
