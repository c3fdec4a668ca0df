/** What both servers do alike with names and numbers on the wire: limits, headers, request lines, close reasons. */
import { METHODS } from 'node:http';
import { AppError } from '../base/errors.ts';
import type { HttpRequest } from '../kernel/transport/server.ts';

/** Bounds of a connection before any handler is asked (reliability 2.g 13). */
export const WIRE = {
  headerBytesMax: 16 * 1024,
  /** A request's header must be complete by then, a body must move, a reader must read: else the connection ends, after at most twice as long. */
  stallMs: 10_000,
  /** A kept-alive connection without a request ends; the same figure is built into uWebSockets.js. */
  keepAliveMs: 10_000,
  /** A closing socket whose peer does not take what waits for it, or does not answer, is dropped. */
  closeGraceMs: 5_000,
} as const;

/** A server drops a frame above its own limit together with the socket, before anybody could say why; so its limit is this many times ours. */
export const FRAME_ROOM = 2;

const METHODS_KNOWN = new Set(METHODS);
/** Printable ASCII without #, which no client sends: what follows it would be lost on the way to a route. */
const TARGET = /^\/[!"$-~]*$/;

/** Whether to answer at all: a known method, a path in printable ASCII, one length. Anything else gets a bare 400. */
export function isWellFormed(request: Pick<HttpRequest, 'method' | 'path' | 'query' | 'headers'>): boolean {
  if (!METHODS_KNOWN.has(request.method) || !TARGET.test(request.path) || !TARGET.test(`/${request.query}`)) return false;
  const length = request.headers['content-length'];
  return length === undefined || /^\d{1,15}$/.test(length); // two lengths arrive here as "5, 6": request smuggling
}

/** Adds one header; a repeated one is joined by a comma, so two of what may stand once make a value that is valid nowhere. */
export function addHeader(headers: Record<string, string>, name: string, value: string): void {
  const before = headers[name];
  headers[name] = before === undefined ? value : `${before}, ${value}`;
}

export function emptyHeaders(): Record<string, string> {
  return Object.create(null) as Record<string, string>;
}

/** Headers that the adapter writes by itself; the application's would contradict them. */
export function isOurs(headerName: string): boolean {
  return headerName === 'content-length' || headerName === 'transfer-encoding' || headerName === 'connection';
}

const CLOSE_REASON_BYTES_MAX = 123;

/** The longest beginning of `reason` that fits a close frame, without half a character at its end. */
export function closeReason(reason: string): string {
  const bytes = Buffer.from(reason);
  if (bytes.length <= CLOSE_REASON_BYTES_MAX) return reason;
  let end = CLOSE_REASON_BYTES_MAX;
  while ((bytes[end]! & 0xc0) === 0x80) end -= 1;
  return bytes.toString('utf8', 0, end);
}

/** @throws AppError PAYLOAD_TOO_LARGE for a body that announces to be longer than `bytesMax`: nothing of it is read. */
export function mustFit(headers: HttpRequest['headers'], bytesMax: number): void {
  if (Number(headers['content-length'] ?? 0) > bytesMax) throw new AppError('PAYLOAD_TOO_LARGE', { bytesMax });
}

/** Pieces as one array. @throws AppError PAYLOAD_TOO_LARGE as soon as they are longer than `bytesMax`. */
export async function collect(read: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of read) {
    size += piece.byteLength;
    if (size > bytesMax) throw new AppError('PAYLOAD_TOO_LARGE', { bytesMax });
    pieces.push(new Uint8Array(piece)); // a copy: its memory is not ours to keep
  }
  return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces);
}
