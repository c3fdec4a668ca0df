/** Requests to an `HttpHandler` without a socket. */
import { AppError } from '../../src/base/errors.ts';
import type { HttpHandler, HttpRequest, HttpResponse } from '../../src/kernel/transport/server.ts';

export interface Call {
  readonly headers?: Readonly<Record<string, string>>;
  /** A value goes out as JSON, text and bytes as they are. */
  readonly body?: unknown;
  readonly aborted?: AbortSignal;
}

export interface CallReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
  /** The body read as JSON, or undefined. */
  readonly value: any;
}

export async function call(
  handler: HttpHandler,
  line: `${string} /${string}`,
  { headers = {}, body, aborted }: Call = {},
): Promise<CallReply> {
  const [method, target] = line.split(' ') as [string, string];
  const [path, query = ''] = target.split('?') as [string, string?];
  const request = aRequest({ method, path, query, headers, ...(aborted !== undefined && { aborted }) }, bytesOf(body));
  const response = await handler(request);
  const text = (await allOf(response.body)).toString();
  const isJson = response.headers?.['content-type']?.startsWith('application/json') === true;
  return { status: response.status, headers: response.headers ?? {}, text, value: isJson ? JSON.parse(text) : undefined };
}

function aRequest(head: Partial<HttpRequest> & Pick<HttpRequest, 'method' | 'path'>, bytes: Uint8Array): HttpRequest {
  const { aborted = new AbortController().signal } = head;
  return {
    query: '',
    headers: {},
    aborted,
    async body(bytesMax) {
      aborted.throwIfAborted();
      if (bytes.byteLength > bytesMax) throw new AppError('PAYLOAD_TOO_LARGE', { bytesMax });
      return bytes;
    },
    async *stream() {
      aborted.throwIfAborted();
      yield bytes;
    },
    ...head,
  };
}

function bytesOf(body: unknown): Uint8Array {
  if (body === undefined) return new Uint8Array();
  if (body instanceof Uint8Array) return body;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** What a client gets. */
export async function allOf(body: HttpResponse['body'] = ''): Promise<Buffer> {
  if (typeof body === 'string' || body instanceof Uint8Array) return Buffer.from(body as Uint8Array);
  const pieces: Uint8Array[] = [];
  for await (const piece of body) pieces.push(piece);
  return Buffer.concat(pieces);
}
