/**
 * One HTTP exchange, the same on both servers: the request as handlers see it, the answer in order, and what becomes of it when
 * the handler fails or the client leaves.
 *
 * It knows no library: `ExchangeWire` is the little that differs.
 */
import { validateHeaderName, validateHeaderValue } from 'node:http';
import { concat } from '../base/binary.ts';
import { bytesIn, noneLonger, type Pieces } from '../base/pieces.ts';
import type { HttpHandler, HttpRequest, HttpResponse, UpgradeRequest } from '../kernel/transport/server.ts';
import { loopSlices } from './loop-slices.ts';
import { isOurs, mustFit } from './server-wire.ts';

export interface RequestHead extends UpgradeRequest {
  readonly method: string;
}

export interface AnswerHead {
  readonly status: number;
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Whether the connection ends with this answer. */
  readonly isLast: boolean;
}

/** None of these is called once the client is gone, or after the answer has ended. */
export interface ExchangeWire {
  /** The request's body as it arrives. Called at most once, and not beside `readWhole`. */
  read(): AsyncIterable<Uint8Array>;
  /** All of it, as a copy to keep. @throws AppError PAYLOAD_TOO_LARGE as soon as it is longer than `bytesMax`. */
  readWhole(bytesMax: number): Promise<Uint8Array>;
  /** A whole answer. `length` null: neither body nor length (204, 304); `body` null: the length alone (HEAD). */
  answer(head: AnswerHead, length: number | null, body: string | Uint8Array | null): void;
  /** Begins an answer in pieces; `size` null: nobody knows yet how many bytes they make. */
  begin(head: AnswerHead, size: number | null): void;
  /** False: the client is behind; the adapter calls `flows` when it takes more. */
  write(piece: Uint8Array): boolean;
  end(head: AnswerHead): void;
  /** Breaks the connection. */
  drop(): void;
}

export interface ExchangeOptions {
  readonly http: HttpHandler;
  readonly reportBug: (error: unknown) => void;
  readonly isStopping: () => boolean;
}

/** A longer body leaves in pieces, each when the system has taken the one before: uWS copies what the system does not take of a whole one. */
const PIECE_BYTES = 256 * 1024;

/** All of it is there. Pieces of nothing are an empty body. */
type Body = string | Uint8Array | Pieces;

/** A string's in UTF-16 units. */
function isLong(body: Body): boolean {
  return (isInPieces(body) ? bytesIn(body) : body.length) > PIECE_BYTES;
}

function isInPieces(body: Body): body is Pieces {
  return Array.isArray(body);
}

function bytesOf(body: Body): number {
  return isInPieces(body) ? bytesIn(body) : Buffer.byteLength(body);
}

function inOne(body: Body): string | Uint8Array {
  return isInPieces(body) ? concat(body) : body;
}

async function* piecesOf(body: Body): AsyncGenerator<Uint8Array> {
  yield* noneLonger(isInPieces(body) ? body : [typeof body === 'string' ? Buffer.from(body) : body], PIECE_BYTES);
}

/** By name, the last value that was found to be valid: names come from our code, so they are few, and most values are always the same. */
const good = new Map<string, string>();

/** @throws a TypeError: a line feed, for one, would begin another header. */
function mustBeValid(name: string, value: string): void {
  if (!good.has(name)) validateHeaderName(name);
  validateHeaderValue(name, value);
  good.set(name, value);
}

export class Exchange implements HttpRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly #wire: ExchangeWire;
  readonly #options: ExchangeOptions;
  /** Made for who asks: most never do, and it costs as much as a route. */
  #abort: AbortController | null = null;
  #isLost = false;
  #state: 'waiting' | 'begun' | 'over' = 'waiting';
  #wake: (() => void) | null = null;
  /** Of an answer in pieces of which the last byte has been written. */
  #complete: AnswerHead | null = null;

  constructor(head: RequestHead, wire: ExchangeWire, options: ExchangeOptions) {
    this.method = head.method;
    this.path = head.path;
    this.query = head.query;
    this.headers = head.headers;
    this.#wire = wire;
    this.#options = options;
  }

  get aborted(): AbortSignal {
    this.#abort ??= new AbortController();
    if (this.#isLost) this.#abort.abort(); // once: a second time changes nothing
    return this.#abort.signal;
  }

  async body(bytesMax: number): Promise<Uint8Array> {
    mustFit(this.headers, bytesMax);
    return this.#wire.readWhole(bytesMax);
  }

  stream(): AsyncIterable<Uint8Array> {
    return this.#wire.read();
  }

  /** Asks the handler and writes its answer. Never rejects. */
  async run(): Promise<void> {
    let over: HttpResponse['over'];
    try {
      const response = await this.#options.http(this);
      over = response.over;
      const head = this.#headOf(response);
      const { body, size } = response;
      if (typeof body === 'object' && Symbol.asyncIterator in body) await this.#pieces(head, body, size ?? null);
      else if (body !== undefined && isLong(body) && this.method !== 'HEAD')
        await this.#pieces(head, piecesOf(body), bytesOf(body));
      else this.#whole(head, body ?? '', this.method === 'HEAD' ? size : undefined);
    } catch (error) {
      this.#fail(error);
    } finally {
      over?.();
    }
  }

  /** The client takes more. */
  flows(): void {
    this.#wake?.();
  }

  /** The client is gone. */
  lost(): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    this.#isLost = true;
    this.#abort?.abort();
    this.#wake?.();
  }

  #headOf({ status, headers = {} }: HttpResponse): AnswerHead {
    const entries: [string, string][] = [];
    for (const name of Object.keys(headers)) {
      const value = headers[name]!;
      if (value === undefined || good.get(name) !== value) {
        if (isOurs(name)) continue;
        mustBeValid(name, value);
      }
      entries.push([name, value]);
    }
    return { status, headers: entries, isLast: this.#options.isStopping() };
  }

  #whole(head: AnswerHead, body: Body, size = bytesOf(body)): void {
    if (this.#state === 'over') return;
    this.#state = 'over';
    const length = head.status === 204 || head.status === 304 ? null : size;
    this.#wire.answer(head, length, this.method === 'HEAD' ? null : inOne(body));
  }

  async #pieces(head: AnswerHead, pieces: AsyncIterable<Uint8Array>, size: number | null): Promise<void> {
    if (this.method === 'HEAD') {
      await pieces[Symbol.asyncIterator]().return?.();
      if (this.#state === 'waiting') this.#wire.answer(head, size, null);
      this.#state = 'over';
      return;
    }
    let missing = size;
    for await (const piece of pieces) {
      this.#begin(head, size);
      if (this.#isOver()) return; // leaving the loop returns the iterator, which frees what it holds
      if (missing !== null) missing -= piece.byteLength;
      if (missing !== null && missing < 0) throw new Error(`the body is longer than its size, ${size}`);
      if (piece.byteLength > 0) await this.#writeInTurn(piece);
      if (missing === 0) this.#complete = head;
    }
    if (missing !== null && missing > 0) throw new Error(`the body is shorter than its size, ${size}, by ${missing}`);
    this.#begin(head, size);
    if (this.#isOver()) return;
    this.#state = 'over';
    this.#wire.end(head);
  }

  /** Resolves when the client takes more. */
  #writeInTurn(piece: Uint8Array): Promise<void> {
    return new Promise((resolve) =>
      loopSlices.next(() => {
        if (this.#isOver() || this.#wire.write(piece)) resolve();
        else this.#wake = resolve;
      }),
    );
  }

  #begin(head: AnswerHead, size: number | null): void {
    if (this.#state !== 'waiting') return;
    this.#state = 'begun';
    this.#wire.begin(head, size);
  }

  #isOver(): boolean {
    return this.#state === 'over';
  }

  /**
   * A bug of the handler, or a stream that broke: a bare 500 where nothing was sent, else the connection ends, so that no half passes for a whole. What
   * fails after the last byte takes nothing back.
   */
  #fail(error: unknown): void {
    const before = this.#state;
    this.#state = 'over';
    if (before === 'begun' && this.#complete !== null) this.#wire.end(this.#complete);
    else if (before === 'begun') this.#wire.drop();
    else if (before === 'waiting') this.#wire.answer({ status: 500, headers: [], isLast: true }, 0, '');
    if (!this.#isLost) this.#options.reportBug(error);
  }
}
