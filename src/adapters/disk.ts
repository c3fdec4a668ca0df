/** The disk as a store that may fail: what the system refuses becomes BLOBS_UNAVAILABLE, and a line in the log. It knows no blobs. */
import { AppError } from '../base/errors.ts';
import type { Log } from '../base/observe.ts';

export class Disk {
  readonly #log: Log;

  constructor(log: Log) {
    this.#log = log;
  }

  /**
   * Resolves as `work` does, which deals with ENOENT itself where a missing file is an answer.
   * @throws AppError BLOBS_UNAVAILABLE for whatever a system call says; everything else as `work` throws it.
   */
  async ask<Reply>(request: string, work: () => Promise<Reply>): Promise<Reply> {
    try {
      return await work();
    } catch (error) {
      throw this.#asRefusal(request, error);
    }
  }

  /** The same for bytes that are read as they are asked for. */
  async *stream(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    try {
      yield* pieces;
    } catch (error) {
      throw this.#asRefusal('stream', error);
    }
  }

  #asRefusal(request: string, error: unknown): unknown {
    const { syscall, code: reason } = error as NodeJS.ErrnoException;
    if (syscall === undefined) return error;
    this.#log.warn({ request, reason, said: String(error) }, 'disk request failed');
    return new AppError('BLOBS_UNAVAILABLE', { reason });
  }
}
