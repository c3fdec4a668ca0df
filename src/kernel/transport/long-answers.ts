/**
 * Long answers on their way out: each stays in memory for as long as its reader takes. Together they hold so much of a worker and no more, where
 * several read the same bytes counted once; beyond that a read is refused, which may be asked again.
 */
import { AppError } from '../../base/errors.ts';
import { bytesIn, noneLonger, type Pieces } from '../../base/pieces.ts';
import type { HttpResponse } from './server.ts';

const BYTES_MAX = 256 * 1024 * 1024;
/** What is shorter is not counted; and it leaves in pieces of this length, each when the system has taken the one before. */
const PIECE_BYTES = 256 * 1024;

interface Held {
  readonly bytes: number;
  readers: number;
}

export class LongAnswers {
  /** By whose memory it is. */
  readonly #held = new Map<object, Held>();
  #bytes = 0;

  /** Held at the moment. */
  get bytes(): number {
    return this.#bytes;
  }

  /**
   * The answer as it is to leave: it counts until its body was read to its end, or the iterator of that was returned. One that is alone may be of any length.
   * @throws AppError WORKER_OVERLOADED
   */
  leaving(response: HttpResponse): HttpResponse {
    const pieces = longPiecesOf(response.body);
    if (pieces === null) return response;
    const letGo = this.#hold(pieces);
    return { ...response, size: bytesIn(pieces), body: new Leaving(noneLonger(pieces, PIECE_BYTES), letGo) };
  }

  /** Of one array the memory that it is a part of counts, which others may read, too. */
  #hold(pieces: Pieces): () => void {
    const [only] = pieces;
    const memory = pieces.length === 1 ? only!.buffer : pieces;
    const held = this.#held.get(memory) ?? { bytes: pieces.length === 1 ? only!.buffer.byteLength : bytesIn(pieces), readers: 0 };
    if (held.readers === 0) this.#take(memory, held);
    held.readers += 1;
    return () => {
      held.readers -= 1;
      if (held.readers > 0) return;
      this.#held.delete(memory);
      this.#bytes -= held.bytes;
    };
  }

  #take(memory: object, held: Held): void {
    if (this.#bytes > 0 && this.#bytes + held.bytes > BYTES_MAX) throw new AppError('WORKER_OVERLOADED');
    this.#held.set(memory, held);
    this.#bytes += held.bytes;
  }
}

/** Null for a body that is short, or comes as it is read. */
function longPiecesOf(body: HttpResponse['body']): Pieces | null {
  if (typeof body === 'string') return Buffer.byteLength(body) > PIECE_BYTES ? [Buffer.from(body)] : null;
  const pieces = body instanceof Uint8Array ? [body] : Array.isArray(body) ? (body as Pieces) : null;
  return pieces !== null && bytesIn(pieces) > PIECE_BYTES ? pieces : null;
}

class Leaving implements AsyncIterableIterator<Uint8Array> {
  readonly #pieces: Iterator<Uint8Array>;
  #letGo: (() => void) | null;

  constructor(pieces: Iterator<Uint8Array>, letGo: () => void) {
    this.#pieces = pieces;
    this.#letGo = letGo;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array>> {
    const next = this.#pieces.next();
    if (next.done === true) this.#end();
    return next;
  }

  async return(): Promise<IteratorResult<Uint8Array>> {
    this.#end();
    return { done: true, value: undefined };
  }

  #end(): void {
    this.#letGo?.();
    this.#letGo = null;
  }
}
