/**
 * The body of one uWebSockets.js request: chunks are pushed in, a reader pulls them out, and the socket pauses in between.
 *
 * uWS hands out chunks from the moment the request is there, whether or not the handler reads already; and it reads on from a paused socket for as
 * long as the client fills its buffer, which one on the same machine does to the last byte. What is more than a little goes to a file.
 */
import { AppError } from '../base/errors.ts';
import { OverflowFile } from './overflow-file.ts';
import { copyOf } from './uws-memory.ts';

/** Bytes kept for a reader that is late: the socket pauses above it. */
const WAITING_BYTES_MAX = 256 * 1024;
/** What still comes is kept up to so much; the rest overflows. */
const HELD_BYTES_MAX = 2 * 1024 * 1024;
/** A client that is ahead of us by more than this is cut off: nobody else is served while uWS reads what it sends. */
const OVERFLOW_BYTES_MAX = 2 * 1024 * 1024 * 1024;
const BUFFER_BYTES = 128 * 1024;
/** Smaller pieces are copied as they are. */
const BUFFERED_FROM_BYTES = BUFFER_BYTES / 2;
/** 16 MiB, kept for the next bodies; more go back to the system. */
const IDLE_BUFFERS_MAX = 128;

interface Piece {
  readonly bytes: Uint8Array;
  /** What it is in, if that is to be used again. */
  readonly buffer: Uint8Array | null;
}

/** Shared by all bodies of this process. As garbage, buffers would live long enough to make it grow by more than all that is under way. */
const idle: Uint8Array[] = [];

function takeBuffer(): Uint8Array {
  return idle.pop() ?? new Uint8Array(BUFFER_BYTES);
}

function giveBack({ buffer }: Piece): void {
  if (buffer !== null && idle.length < IDLE_BUFFERS_MAX) idle.push(buffer);
}

/** Copies of a chunk: uWS takes the memory back on return. */
function piecesOf(chunk: ArrayBuffer): Piece[] {
  if (chunk.byteLength === 0) return []; // the end of a body whose length was not said
  if (chunk.byteLength < BUFFERED_FROM_BYTES) return [{ bytes: copyOf(chunk), buffer: null }];
  const pieces: Piece[] = [];
  for (let at = 0; at < chunk.byteLength; at += BUFFER_BYTES) {
    const length = Math.min(BUFFER_BYTES, chunk.byteLength - at);
    const source = new Uint8Array(chunk, at, length);
    if (length < BUFFERED_FROM_BYTES) {
      pieces.push({ bytes: source.slice(), buffer: null });
    } else {
      const buffer = takeBuffer();
      buffer.set(source);
      pieces.push({ bytes: buffer.subarray(0, length), buffer });
    }
  }
  return pieces;
}

interface Tap {
  pause(): void;
  resume(): void;
  /** Drops the connection; `fail` is called on the way. */
  close(): void;
}

export class UwsBody {
  readonly #tap: Tap;
  #waiting: Piece[] = [];
  #waitingBytes = 0;
  /** What came after all that waits. While there is one, all that comes goes there. */
  #overflow: OverflowFile | null = null;
  #state: 'flowing' | 'complete' | 'discarded' = 'flowing';
  #isPaused = false;
  #failure: unknown = null;
  #wake: (() => void) | null = null;

  constructor(tap: Tap) {
    this.#tap = tap;
  }

  /** Never throws: uWS would take the process down. */
  push(chunk: ArrayBuffer, isLast: boolean): void {
    if (this.#state === 'discarded' || this.#failure !== null) return;
    this.#keep(chunk);
    if (isLast) {
      this.complete();
      return;
    }
    if (this.#state === 'flowing' && !this.#isPaused && this.#waitingBytes > WAITING_BYTES_MAX) this.#pause();
    this.#wake?.();
  }

  /** Nothing more comes. A paused socket stays so until the answer: from a resumption on uWS gives a client 10 s, and this one waits for us. */
  complete(): void {
    this.#state = 'complete';
    this.#wake?.();
  }

  /** Makes the reader fail with `reason`; the connection is gone. */
  fail(reason: unknown): void {
    this.#failure = reason;
    this.#state = 'discarded';
    this.#isPaused = false;
    this.#forget();
    this.#wake?.();
  }

  /** Lets the rest pass unread, so that the connection can serve its next request. Only while the connection lives. */
  discard(): void {
    if (this.#isPaused) this.#resume();
    this.#state = 'discarded';
    this.#forget();
  }

  /** All of it, as a copy to keep. @throws AppError PAYLOAD_TOO_LARGE, what `fail` was given */
  async readWhole(bytesMax: number): Promise<Uint8Array> {
    if (this.#state === 'flowing' && this.#waiting.length === 0 && this.#failure === null) await this.#more();
    const isOnePiece = this.#state === 'complete' && this.#waiting.length === 1 && this.#overflow === null;
    if (isOnePiece && this.#waiting[0]!.buffer === null && this.#waitingBytes <= bytesMax) return this.#fromMemory()!.bytes; // as most are
    return this.#gathered(bytesMax);
  }

  /** Only what is whole is copied: as garbage, the parts of bodies that are refused would have V8 look through its whole heap each second. */
  async #gathered(bytesMax: number): Promise<Uint8Array> {
    const held: Piece[] = [];
    let size = 0;
    try {
      for await (const piece of this.#pieces()) {
        held.push(piece);
        size += piece.bytes.byteLength;
        if (size > bytesMax) throw new AppError('PAYLOAD_TOO_LARGE', { bytesMax });
      }
      return Buffer.concat(held.map(({ bytes }) => bytes)); // a copy, of one piece, too: its buffer is the next body's
    } finally {
      for (const piece of held) giveBack(piece);
    }
  }

  /** A piece is the reader's until it asks for the next one, or stops. */
  async *read(): AsyncGenerator<Uint8Array> {
    for await (const piece of this.#pieces()) {
      try {
        yield piece.bytes;
      } finally {
        giveBack(piece);
      }
    }
  }

  /** Whoever takes them gives them back. */
  async *#pieces(): AsyncGenerator<Piece> {
    for (;;) {
      if (this.#failure !== null) throw this.#failure;
      // Nothing is awaited when there is nothing: what came in between would wake nobody.
      const piece = this.#fromMemory() ?? (this.#overflow === null ? null : await this.#readOverflow(this.#overflow));
      if (piece !== null) {
        this.#resumeIfLow();
        yield piece;
      } else if (this.#failure === null) {
        if (this.#state === 'complete' || this.#state === 'discarded') return;
        await this.#more();
      }
    }
  }

  #keep(chunk: ArrayBuffer): void {
    if (this.#waitingBytes + chunk.byteLength <= HELD_BYTES_MAX && this.#overflow === null) {
      this.#waitingBytes += chunk.byteLength;
      this.#waiting.push(...piecesOf(chunk));
      return;
    }
    try {
      this.#overflow ??= new OverflowFile();
      if (this.#overflow.left + chunk.byteLength > OVERFLOW_BYTES_MAX) this.#tap.close();
      else this.#overflow.write(new Uint8Array(chunk));
    } catch (error) {
      this.#failure = error;
      this.#forget(); // nobody reads it any more, and others may need the place
    }
  }

  /** Chunks of the same read still come, and with each of them uWS counts the silence of the client anew: it stops counting with a pause after the last. */
  #pause(): void {
    this.#isPaused = true;
    this.#tap.pause();
    setImmediate(() => {
      if (this.#isPaused) this.#tap.pause();
    });
  }

  #resume(): void {
    this.#isPaused = false;
    this.#tap.resume();
  }

  #fromMemory(): Piece | null {
    const piece = this.#waiting.shift();
    if (piece === undefined) return null;
    this.#waitingBytes -= piece.bytes.byteLength;
    return piece;
  }

  async #readOverflow(file: OverflowFile): Promise<Piece> {
    const buffer = takeBuffer();
    const length = await file.read(buffer);
    if (file.left === 0 && this.#overflow === file) this.#endOverflow();
    return { bytes: buffer.subarray(0, length), buffer };
  }

  #endOverflow(): void {
    this.#overflow?.close();
    this.#overflow = null;
  }

  #resumeIfLow(): void {
    if (this.#state !== 'flowing' || !this.#isPaused) return;
    if (this.#waitingBytes <= WAITING_BYTES_MAX && this.#overflow === null) this.#resume();
  }

  async #more(): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#wake = resolve;
    });
    this.#wake = null;
  }

  #forget(): void {
    for (const piece of this.#waiting.splice(0)) giveBack(piece);
    this.#endOverflow();
  }
}
