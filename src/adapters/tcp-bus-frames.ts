/**
 * The frames of a link between workers and their bytes: a length in four bytes, then MessagePack. It knows neither sockets nor who speaks.
 */
import { packMessage, unpackMessage } from '../base/binary.ts';
import type { Facts } from '../base/error-table.ts';
import { AppError } from '../base/errors.ts';
import type { Message } from '../kernel/cluster/bus.ts';

export type Frame =
  | { readonly type: 'ping' }
  /** The verdict over a new connection, given by the worker of the smaller address: it is the link, or it is one too many. */
  | { readonly type: 'use' }
  | { readonly type: 'spare' }
  | { readonly type: 'tell'; readonly message: Message }
  | { readonly type: 'ask'; readonly id: number; readonly message: Message }
  | { readonly type: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly type: 'refusal'; readonly id: number; readonly code: string; readonly facts: Facts };

/** The place in this list is the number on the wire. */
const TYPES = ['ping', 'use', 'spare', 'tell', 'ask', 'answer', 'refusal'] as const satisfies Frame['type'][];
const PREFIX_BYTES = 4;
/** Small frames share pieces of this size; a larger one is a piece of its own. */
const PIECE_BYTES = 16 * 1024;

/** The bytes of a frame without its length, valid until the next call. @throws an Error when the message is not plain data. */
export function packFrame(frame: Frame): Uint8Array {
  return packMessage(fieldsOf(frame));
}

/** The same. @throws AppError PAYLOAD_TOO_LARGE as well. */
export function boundedFrame(frame: Frame, { frameBytesMax }: { frameBytesMax: number }): Uint8Array {
  const body = packFrame(frame);
  if (body.byteLength > frameBytesMax) {
    throw new AppError('PAYLOAD_TOO_LARGE', { what: 'The message between workers', bytesMax: frameBytesMax });
  }
  return body;
}

/** @throws an Error when the bytes are no frame. */
export function unpackFrame(body: Uint8Array): Frame {
  const fields = unpackMessage(body);
  const frame = Array.isArray(fields) ? frameOf(fields) : null;
  if (frame === null) throw new Error('not a frame');
  return frame;
}

function fieldsOf(frame: Frame): unknown[] {
  const type = TYPES.indexOf(frame.type);
  switch (frame.type) {
    case 'tell':
      return withLast([type, frame.message.kind], frame.message.payload);
    case 'ask':
      return withLast([type, frame.id, frame.message.kind], frame.message.payload);
    case 'answer':
      return withLast([type, frame.id], frame.value);
    case 'refusal':
      return [type, frame.id, frame.code, frame.facts];
    default:
      return [type];
  }
}

/** Nothing stays nothing: in an array undefined would become null. */
function withLast(fields: unknown[], last: unknown): unknown[] {
  if (last !== undefined) fields.push(last);
  return fields;
}

function frameOf(fields: readonly unknown[]): Frame | null {
  const [number, first, second, third] = fields;
  const type = typeof number === 'number' ? TYPES[number] : undefined;
  if (type === undefined) return null;
  if (type === 'tell') return typeof first === 'string' ? { type, message: { kind: first, payload: second } } : null;
  if (type === 'ping' || type === 'use' || type === 'spare') return { type };
  if (typeof first !== 'number') return null;
  if (type === 'answer') return { type, id: first, value: second };
  if (typeof second !== 'string') return null;
  if (type === 'ask') return { type, id: first, message: { kind: second, payload: third } };
  return typeof third === 'object' && third !== null ? { type, id: first, code: second, facts: third as Facts } : null;
}

/** Frames on their way out, gathered in pieces so that many small ones leave in one write. */
export class FrameBatch {
  #pieces: Uint8Array[] = [];
  #piece = Buffer.alloc(0);
  #start = 0;
  #end = 0;
  #bytes = 0;

  /** Of all frames since the last `take`, with their lengths. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Copies the body. */
  add(body: Uint8Array): void {
    const size = PREFIX_BYTES + body.byteLength;
    this.#bytes += size;
    if (size > PIECE_BYTES) {
      this.#cut();
      this.#pieces.push(write(Buffer.allocUnsafeSlow(size), 0, body));
      return;
    }
    if (size > this.#piece.length - this.#end) {
      this.#cut();
      this.#piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
      this.#start = 0;
      this.#end = 0;
    }
    write(this.#piece, this.#end, body);
    this.#end += size;
  }

  /** What was added since the last call; never written to again. */
  take(): Uint8Array[] {
    this.#cut();
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bytes = 0;
    return pieces;
  }

  #cut(): void {
    if (this.#end > this.#start) this.#pieces.push(this.#piece.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}

function write(target: Buffer, at: number, body: Uint8Array): Buffer {
  target.writeUInt32BE(body.byteLength, at);
  target.set(body, at + PREFIX_BYTES);
  return target;
}

/** Frames out of bytes that come in pieces of any size. */
export class FrameReader {
  readonly #bytesMax: number;
  readonly #pieces: Uint8Array[] = [];
  readonly #prefix = Buffer.alloc(PREFIX_BYTES);
  #prefixFilled = 0;
  #body: Uint8Array | null = null;
  #bodyFilled = 0;

  constructor({ frameBytesMax }: { frameBytesMax: number }) {
    this.#bytesMax = frameBytesMax;
  }

  push(piece: Uint8Array): void {
    this.#pieces.push(piece);
  }

  /** The body of the next whole frame, in memory of its own: what a handler keeps of it must not hold a piece of the wire. Null: more is needed. */
  next(): Uint8Array | 'too large' | null {
    this.#prefixFilled += this.#fill(this.#prefix, this.#prefixFilled);
    if (this.#prefixFilled < PREFIX_BYTES) return null;
    const size = this.#prefix.readUInt32BE(0);
    if (size > this.#bytesMax) return 'too large';
    this.#body ??= new Uint8Array(size);
    this.#bodyFilled += this.#fill(this.#body, this.#bodyFilled);
    if (this.#bodyFilled < size) return null;
    const body = this.#body;
    this.#body = null;
    this.#bodyFilled = 0;
    this.#prefixFilled = 0;
    return body;
  }

  /** Moves bytes into what is left of `target`; returns how many. */
  #fill(target: Uint8Array, from: number): number {
    let at = from;
    while (at < target.length && this.#pieces.length > 0) {
      const piece = this.#pieces[0]!;
      const count = Math.min(piece.length, target.length - at);
      target.set(piece.subarray(0, count), at);
      at += count;
      if (count === piece.length) this.#pieces.shift();
      else this.#pieces[0] = piece.subarray(count);
    }
    return at - from;
  }
}
