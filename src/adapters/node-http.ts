/** HTTP over `node:http`, with the time limits that uWebSockets.js has by itself. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { UpgradeRequest } from '../kernel/transport/server.ts';
import { type AnswerHead, Exchange, type ExchangeOptions, type ExchangeWire } from './server-exchange.ts';
import { addHeader, collect, emptyHeaders, isWellFormed, WIRE } from './server-wire.ts';

/** The request line and headers as uWebSockets.js shows them: values as UTF-8, repeated ones joined. */
export function headOf(req: IncomingMessage): UpgradeRequest {
  const headers = emptyHeaders();
  for (let at = 0; at < req.rawHeaders.length; at += 2) {
    addHeader(headers, req.rawHeaders[at]!.toLowerCase(), Buffer.from(req.rawHeaders[at + 1]!, 'latin1').toString());
  }
  const target = req.url ?? '';
  const mark = target.indexOf('?');
  return {
    path: mark < 0 ? target : target.slice(0, mark),
    query: mark < 0 ? '' : target.slice(mark + 1),
    headers,
  };
}

export function serveExchange(req: IncomingMessage, res: ServerResponse, options: ExchangeOptions): void {
  const head = { method: req.method ?? '', ...headOf(req) };
  if (!isWellFormed(head)) {
    res.writeHead(400, { connection: 'close' }).end();
    return;
  }
  const wire = new NodeExchangeWire(req, res, () => exchange.aborted.reason);
  const exchange = new Exchange(head, wire, options);
  res.on('close', () => {
    if (!res.writableFinished) exchange.lost();
  });
  res.on('drain', () => {
    req.socket.setTimeout(0);
    exchange.flows();
  });
  exchange.run();
}

class NodeExchangeWire implements ExchangeWire {
  readonly #req: IncomingMessage;
  readonly #res: ServerResponse;
  readonly #abortReason: () => unknown;

  constructor(req: IncomingMessage, res: ServerResponse, abortReason: () => unknown) {
    this.#req = req;
    this.#res = res;
    this.#abortReason = abortReason;
  }

  /** A socket that is silent while we wait for it ends; one that waits for us does not. */
  async *read(): AsyncGenerator<Uint8Array> {
    const pieces: AsyncIterator<Uint8Array> = this.#req.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
    try {
      for (;;) {
        this.#req.socket.setTimeout(WIRE.stallMs);
        const piece = await pieces.next();
        this.#req.socket.setTimeout(0);
        if (piece.done === true) return;
        yield piece.value;
      }
    } catch (error) {
      throw this.#abortReason() ?? error;
    } finally {
      await pieces.return?.();
    }
  }

  readWhole(bytesMax: number): Promise<Uint8Array> {
    return collect(this.read(), bytesMax);
  }

  answer(head: AnswerHead, length: number | null, body: string | Uint8Array | null): void {
    this.#writeHead(head, length);
    this.#req.socket.setTimeout(WIRE.stallMs); // for a client that does not read; with the end of the answer Node sets its own
    this.#res.end(body ?? '');
  }

  begin(head: AnswerHead, size: number | null): void {
    this.#writeHead(head, size);
  }

  write(piece: Uint8Array): boolean {
    const flows = this.#res.write(piece);
    if (!flows) this.#req.socket.setTimeout(WIRE.stallMs);
    return flows;
  }

  end(): void {
    this.#req.socket.setTimeout(WIRE.stallMs);
    this.#res.end();
  }

  drop(): void {
    this.#res.destroy();
  }

  /** Node writes the rest of the head by itself; the unread rest of the body passes, so that the connection can serve its next request. */
  #writeHead({ status, headers, isLast }: AnswerHead, length: number | null): void {
    this.#req.resume();
    if (length !== null) this.#res.setHeader('content-length', length);
    if (isLast) this.#res.setHeader('connection', 'close');
    for (const [name, value] of headers) this.#res.setHeader(name, value);
    this.#res.writeHead(status);
  }
}
