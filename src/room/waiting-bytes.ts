/**
 * Bytes that the rooms of a worker have decided and the journal does not have yet, all together: with the database away, thousands of rooms that may each
 * hold little would hold much. Asked before a change is decided, because one that is decided has to be written.
 */
export class WaitingBytes {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax;
  }

  get bytes(): number {
    return this.#bytes;
  }

  get isFull(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  came(bytes: number): void {
    this.#bytes += bytes;
  }

  /** Written, or given up. */
  went(bytes: number): void {
    this.#bytes -= bytes;
  }
}
