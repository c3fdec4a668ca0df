/** A way to an HTTP server that can be broken: gone, frozen, or at fault for single requests. What passes, passes byte for byte. */
import http from 'node:http';
import type { AddressInfo } from 'node:net';

interface Asked {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  readonly headers: http.IncomingHttpHeaders;
}

/**
 * status: an answer of our own, without asking the server. hold: none, ever. slow: later. cut: the connection ends after so many bytes of
 * the answer's body. lost: the server does what it was asked, and the connection ends instead of its answer. flip: one bit of the body is another.
 */
export type Fault =
  | { readonly kind: 'status'; readonly status: number; readonly body?: string }
  | { readonly kind: 'hold' }
  | { readonly kind: 'slow'; readonly ms: number }
  | { readonly kind: 'cut'; readonly afterBytes: number }
  | { readonly kind: 'lost' }
  | { readonly kind: 'flip'; readonly body: 'request' | 'answer' };

export class FaultyHttp {
  /** Asked for each request; null lets it pass. */
  fault: (request: Asked) => Fault | null = () => null;
  /** All that was asked while somebody listened. */
  readonly asked: Asked[] = [];
  readonly #upstream: string;
  readonly #server: http.Server;
  #port = 0;

  constructor(upstream: string) {
    this.#upstream = upstream;
    this.#server = http.createServer((request, response) => this.#serve(request, response));
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  /** Listens, on the same port as before; what was frozen or at fault passes again. */
  async start(): Promise<void> {
    this.fault = () => null;
    if (this.#server.listening) return;
    await new Promise<void>((resolve) => this.#server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = (this.#server.address() as AddressInfo).port;
  }

  /** Nobody listens any more, and all connections break. */
  async stop(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    await closed;
  }

  /** Takes connections and requests, and never answers. */
  freeze(): void {
    this.fault = () => ({ kind: 'hold' });
  }

  #serve(request: http.IncomingMessage, response: http.ServerResponse): void {
    const asked = { method: request.method!, path: request.url!, headers: request.headers };
    this.asked.push(asked);
    const fault = this.fault(asked);
    request.on('error', () => response.destroy());
    if (fault?.kind === 'hold') request.resume();
    else if (fault?.kind === 'status') {
      request.resume();
      const { status, body = '' } = fault;
      request.on('end', () => response.writeHead(status, { 'content-length': body.length }).end(body));
    } else if (fault?.kind === 'slow') setTimeout(() => this.#forward(request, response, null), fault.ms);
    else this.#forward(request, response, fault);
  }

  #forward(request: http.IncomingMessage, response: http.ServerResponse, fault: Fault | null): void {
    const { method, url: path, rawHeaders } = request;
    const forwarded = http.request(this.#upstream + path, { method, headers: rawHeaders as never, agent: false });
    forwarded.on('error', () => response.destroy());
    forwarded.on('response', (answer) => {
      if (fault?.kind === 'lost') {
        answer.resume().on('end', () => response.destroy());
        return;
      }
      response.writeHead(answer.statusCode!, answer.rawHeaders);
      copy(answer, response, fault?.kind === 'flip' && fault.body === 'request' ? null : fault);
    });
    copy(request, forwarded, fault?.kind === 'flip' && fault.body === 'request' ? fault : null);
  }
}

function copy(from: http.IncomingMessage, to: http.ServerResponse | http.ClientRequest, fault: Fault | null): void {
  let left = fault?.kind === 'cut' ? fault.afterBytes : Number.POSITIVE_INFINITY;
  let isFlipped = fault?.kind !== 'flip';
  from.on('data', (piece: Buffer) => {
    if (!isFlipped) piece[piece.length >> 1]! ^= 1;
    isFlipped = true;
    if (!to.write(piece.subarray(0, left))) {
      from.pause();
      to.once('drain', () => from.resume());
    }
    left -= piece.length;
    if (left <= 0) from.destroy();
  });
  from.on('close', () => (from.complete && left > 0 ? undefined : to.destroy()));
  from.on('end', () => to.end());
}
