/**
 * Memory for bodies on their way to a store that takes them in parts: a bounded number of buffers of one part each, shared by all uploads of this
 * process and used again. Who finds none waits, and the sender with it.
 */
import { AppError } from '../base/errors.ts';
import { PART_BYTES_MIN } from '../kernel/persistence/blob-parts.ts';
import type { BlobBody } from '../kernel/persistence/blobs.ts';

/** The smallest that S3 takes: 10,000 of them make 48 GiB. */
export const PART_BYTES = PART_BYTES_MIN;
/** 320 MiB; each is filled at the pace of one sender. */
const BUFFERS_MAX = 64;
/** Kept for the next upload; more go back to the system. */
const IDLE_BUFFERS_MAX = 8;
const WAITING_MAX = 1_000;

/** A piece of a body; `release` must be called once nobody reads `bytes` any more. */
export interface BodyPart {
  readonly bytes: Uint8Array;
  readonly isLast: boolean;
  release(): void;
}

export class PartBuffers {
  readonly #idle: Buffer[] = [];
  readonly #waiting: ((buffer: Buffer) => void)[] = [];
  #inUse = 0;

  /** Cuts a body into parts of `PART_BYTES`, the last one shorter, possibly empty. A body in memory is not copied. */
  async *partsOf(body: BlobBody): AsyncGenerator<BodyPart, void, void> {
    if (body instanceof Uint8Array) yield* slicesOf(body);
    else yield* this.#collect(body);
  }

  async *#collect(body: AsyncIterable<Uint8Array>): AsyncGenerator<BodyPart, void, void> {
    let held: Buffer | null = await this.#take();
    let filled = 0;
    try {
      for await (const piece of body) {
        for (let at = 0; at < piece.length; ) {
          if (filled === PART_BYTES) {
            const full: Buffer = held!;
            held = null; // it is the reader's now, and sent before the next one is asked for: nobody waits while holding what others wait for
            yield { bytes: full, isLast: false, release: () => this.#give(full) };
            held = await this.#take();
            filled = 0;
          }
          const some = piece.subarray(at, at + PART_BYTES - filled);
          held!.set(some, filled);
          filled += some.length;
          at += some.length;
        }
      }
      const last: Buffer = held!;
      held = null;
      yield { bytes: last.subarray(0, filled), isLast: true, release: () => this.#give(last) };
    } finally {
      if (held !== null) this.#give(held);
    }
  }

  async #take(): Promise<Buffer> {
    if (this.#inUse < BUFFERS_MAX) {
      this.#inUse++;
      return this.#idle.pop() ?? Buffer.allocUnsafeSlow(PART_BYTES);
    }
    if (this.#waiting.length >= WAITING_MAX) throw new AppError('BLOBS_UNAVAILABLE', { reason: 'too many uploads wait' });
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #give(buffer: Buffer): void {
    const next = this.#waiting.shift();
    if (next !== undefined) {
      next(buffer);
      return;
    }
    this.#inUse--;
    if (this.#idle.length < IDLE_BUFFERS_MAX) this.#idle.push(buffer);
  }
}

function* slicesOf(bytes: Uint8Array): Generator<BodyPart, void, void> {
  for (let start = 0; start === 0 || start < bytes.length; start += PART_BYTES) {
    const end = start + PART_BYTES;
    yield { bytes: bytes.subarray(start, end), isLast: end >= bytes.length, release: () => undefined };
  }
}
