/**
 * HTTP over uWebSockets.js.
 *
 * uWS frees the request when the handler returns and the response when the client aborts: everything is copied first, and
 * `onAborted` is set before anything can throw.
 */

import type { HttpRequest as UwsRequest, HttpResponse as UwsResponse } from 'uWebSockets.js';
import { STATUS_CODES } from 'node:http';
import type { UpgradeRequest } from '../kernel/transport/server.ts';
import { type AnswerHead, Exchange, type ExchangeOptions, type ExchangeWire } from './server-exchange.ts';
import { addHeader, emptyHeaders, isWellFormed } from './server-wire.ts';
import { UwsBody } from './uws-body.ts';

/** What must be read while the handler runs. */
export function headOf(req: UwsRequest): UpgradeRequest {
  const headers = emptyHeaders();
  req.forEach((name, value) => {
    addHeader(headers, name, value);
  });
  return {
    path: req.getUrl(),
    query: (req.getQuery() as string | undefined) ?? '', // its type says string; without a question mark it is undefined
    headers,
  };
}

/** Answers at once, without a handler, and ends the connection. */
export function refuse(res: UwsResponse, status: number): void {
  res.writeStatus(statusLine(status)).end('', true);
}

/** Serves one request. Never throws: uWS would take the process down. */
export function serveExchange(res: UwsResponse, req: UwsRequest, options: ExchangeOptions): void {
  const { path, query, headers } = headOf(req);
  const head = { method: req.getCaseSensitiveMethod(), path, query, headers };
  if (!isWellFormed(head)) {
    refuse(res, 400);
    return;
  }
  const body = new UwsBody(res);
  const wire = new UwsExchangeWire(res, body);
  const exchange = new Exchange(head, wire, options);
  res.onAborted(() => {
    exchange.lost();
    body.fail(exchange.aborted.reason);
  });
  res.onWritable(() => {
    if (wire.goesOn()) exchange.flows();
    return true;
  });
  if (head.headers['content-length'] === undefined && head.headers['transfer-encoding'] === undefined) body.complete();
  else res.onData((chunk, isLast) => body.push(chunk, isLast));
  exchange.run();
}

class UwsExchangeWire implements ExchangeWire {
  readonly #res: UwsResponse;
  readonly #body: UwsBody;
  /** Of an answer in pieces, when it is known. */
  #size: number | null = null;
  /** What uWS did not take of a piece; of an answer without a size it takes all. */
  #rest: Uint8Array | null = null;
  #isComplete = false;

  constructor(res: UwsResponse, body: UwsBody) {
    this.#res = res;
    this.#body = body;
  }

  read(): AsyncIterable<Uint8Array> {
    return this.#body.read();
  }

  readWhole(bytesMax: number): Promise<Uint8Array> {
    return this.#body.readWhole(bytesMax);
  }

  answer(head: AnswerHead, length: number | null, body: string | Uint8Array | null): void {
    this.#res.cork(() => {
      this.#writeHead(head);
      if (length !== null && body !== null) {
        this.#res.end(body, head.isLast);
        return;
      }
      // endWithoutBody(length) would wait for bytes that a HEAD never brings, and drop the connection at its next request
      if (length !== null) this.#res.writeHeader('content-length', String(length));
      if (head.isLast) this.#res.writeHeader('connection', 'close');
      this.#res.endWithoutBody();
    });
  }

  begin(head: AnswerHead, size: number | null): void {
    this.#size = size;
    this.#res.cork(() => {
      this.#writeHead(head);
      if (size !== null && head.isLast) this.#res.writeHeader('connection', 'close'); // the client then closes: tryEnd cannot
    });
  }

  write(piece: Uint8Array): boolean {
    let flows = true;
    this.#res.cork(() => {
      flows = this.#size === null ? this.#res.write(piece) : this.#writeSized(piece, this.#size);
    });
    return flows;
  }

  /** uWS can take more. False while a piece is not wholly taken. */
  goesOn(): boolean {
    const rest = this.#rest;
    if (rest === null) return true;
    this.#rest = null;
    return rest.length === 0 || this.write(rest);
  }

  /** With the last byte of its size the answer has ended by itself. */
  end(head: AnswerHead): void {
    if (!this.#isComplete) this.#res.cork(() => this.#res.end('', head.isLast));
  }

  drop(): void {
    this.#res.close();
  }

  /** Unlike `write` it takes what fits now, and leaves the rest to us. */
  #writeSized(piece: Uint8Array, size: number): boolean {
    const before = this.#res.getWriteOffset();
    const [isTaken, isComplete] = this.#res.tryEnd(piece, size);
    this.#isComplete = isComplete;
    if (isTaken || isComplete) return true;
    this.#rest = piece.subarray(this.#res.getWriteOffset() - before);
    return false;
  }

  #writeHead({ status, headers }: AnswerHead): void {
    this.#body.discard();
    this.#res.writeStatus(statusLine(status));
    for (const [name, value] of headers) this.#res.writeHeader(name, value);
  }
}

function statusLine(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? ''}`;
}
