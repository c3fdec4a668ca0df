/**
 * Bytes that came and cannot be held in memory: a nameless file, written at once and read later, from its beginning.
 *
 * Writing blocks: whoever needs this is called by something that can neither wait nor be told to stop.
 */
import { close, closeSync, openSync, read, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const readAt = promisify(read);
let opened = 0;

export class OverflowFile {
  readonly #file: number;
  #end = 0;
  #start = 0;
  #isReading = false;
  #isClosed = false;

  /** It has no name from the beginning, so that nothing is left of it however this process ends. @throws what node:fs throws */
  constructor() {
    opened += 1;
    const path = join(tmpdir(), `atrium-body-${process.pid}-${opened}`);
    this.#file = openSync(path, 'wx+', 0o600);
    unlinkSync(path);
  }

  /** Bytes that are to be read. */
  get left(): number {
    return this.#end - this.#start;
  }

  /** @throws what node:fs throws, such as ENOSPC */
  write(bytes: Uint8Array): void {
    for (let at = 0; at < bytes.byteLength; ) {
      const written = writeSync(this.#file, bytes, at, bytes.byteLength - at, this.#end);
      at += written;
      this.#end += written;
    }
  }

  /** Reads the next bytes into `target`, and says how many. One at a time. */
  async read(target: Uint8Array): Promise<number> {
    this.#isReading = true;
    try {
      const { bytesRead } = await readAt(this.#file, target, 0, Math.min(target.byteLength, this.left), this.#start);
      this.#start += bytesRead;
      return bytesRead;
    } finally {
      this.#isReading = false;
      if (this.#isClosed) closeSync(this.#file);
    }
  }

  /** Also in the middle of reading: then the file is closed after it, because its number may soon be that of another one. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (!this.#isReading) close(this.#file);
  }
}
