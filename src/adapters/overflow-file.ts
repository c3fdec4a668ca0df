/**
 * Bytes that came and cannot be held in memory: a nameless file, written at once and read later, from its beginning.
 *
 * Writing blocks: whoever needs this is called by something that can neither wait nor be told to stop.
 */
import { close, closeSync, openSync, read, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { AppError } from '../base/errors.ts';

const readAt = promisify(read);
let opened = 0;
/** In all files that are open. */
let allBytes = 0;

/** More of one process would fill a folder that others need, and in Kubernetes end the pod, whose limit the chart sets above it. */
const ALL_BYTES_MAX = 2 * 1024 * 1024 * 1024;

export class OverflowFile {
  readonly #file: number;
  readonly #allBytesMax: number;
  #end = 0;
  #start = 0;
  #isReading = false;
  #isClosed = false;

  /** It has no name from the beginning, so that nothing is left of it however this process ends. @throws AppError BODY_FOUND_NO_PLACE */
  constructor({ allBytesMax = ALL_BYTES_MAX }: { allBytesMax?: number } = {}) {
    this.#allBytesMax = allBytesMax;
    opened += 1;
    const path = join(tmpdir(), `atrium-body-${process.pid}-${opened}`);
    this.#file = placed(() => openSync(path, 'wx+', 0o600));
    unlinkSync(path);
  }

  /** Bytes that are to be read. */
  get left(): number {
    return this.#end - this.#start;
  }

  /** @throws AppError BODY_FOUND_NO_PLACE */
  write(bytes: Uint8Array): void {
    if (allBytes + bytes.byteLength > this.#allBytesMax) throw noPlace(`${this.#allBytesMax} bytes of bodies wait`);
    for (let at = 0; at < bytes.byteLength; ) {
      const written = placed(() => writeSync(this.#file, bytes, at, bytes.byteLength - at, this.#end));
      at += written;
      this.#end += written;
      allBytes += written;
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
    allBytes -= this.#end;
    if (!this.#isReading) close(this.#file);
  }
}

function placed<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw noPlace(String((error as NodeJS.ErrnoException).code ?? error)); // ENOSPC, EROFS, EACCES
  }
}

function noPlace(reason: string): AppError {
  return new AppError('BODY_FOUND_NO_PLACE', { folder: tmpdir(), reason });
}
