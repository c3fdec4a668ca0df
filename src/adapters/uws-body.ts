/**
 * The body of one uWebSockets.js request: chunks are pushed in, a reader pulls them out, and the socket pauses in between.
 *
 * uWS hands out chunks from the moment the request is there, whether or not the handler reads already.
 */

/** Bytes kept for a reader that is late. The socket pauses above it; what one read of it brings (512 KiB) still comes on top. */
const WAITING_BYTES_MAX = 256 * 1024;

export class UwsBody {
  readonly #tap: { pause(): void; resume(): void };
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #state: 'flowing' | 'paused' | 'complete' | 'discarded' = 'flowing';
  #failure: unknown = null;
  #wake: (() => void) | null = null;

  constructor(tap: { pause(): void; resume(): void }) {
    this.#tap = tap;
  }

  /** Takes one chunk; it is copied, uWS takes the memory back on return. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#state === 'discarded') return;
    if (chunk.byteLength > 0) this.#waiting.push(new Uint8Array(chunk.slice(0)));
    this.#waitingBytes += chunk.byteLength;
    if (isLast) {
      this.complete();
      return;
    }
    if (this.#state === 'flowing' && this.#waitingBytes > WAITING_BYTES_MAX) this.#pause();
    this.#wake?.();
  }

  /** Chunks of the same read still come, and with each of them uWS counts the silence of the client anew: it stops counting with a pause after the last. */
  #pause(): void {
    this.#state = 'paused';
    this.#tap.pause();
    setImmediate(() => {
      if (this.#state === 'paused') this.#tap.pause();
    });
  }

  /** Nothing more comes: of this request, that is. A socket that stayed paused would never bring the next one. */
  complete(): void {
    if (this.#state === 'paused') this.#tap.resume();
    this.#state = 'complete';
    this.#wake?.();
  }

  /** Makes the reader fail with `reason`; the connection is gone. */
  fail(reason: unknown): void {
    this.#failure = reason;
    this.#state = 'discarded';
    this.#waiting = [];
    this.#wake?.();
  }

  /** Lets the rest pass unread, so that the connection can serve its next request. Only while the connection lives. */
  discard(): void {
    if (this.#state === 'paused') this.#tap.resume();
    this.#state = 'discarded';
    this.#waiting = [];
  }

  async *read(): AsyncGenerator<Uint8Array> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      const chunk = this.#waiting.shift();
      if (chunk !== undefined) {
        this.#took(chunk.byteLength);
        yield chunk;
      } else if (this.#state === 'complete' || this.#state === 'discarded') {
        return;
      } else {
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
        this.#wake = null;
      }
    }
  }

  #took(bytes: number): void {
    this.#waitingBytes -= bytes;
    if (this.#state === 'paused' && this.#waitingBytes <= WAITING_BYTES_MAX) {
      this.#state = 'flowing';
      this.#tap.resume();
    }
  }
}
