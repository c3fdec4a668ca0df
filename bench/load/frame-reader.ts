/** What a server's bytes say as frames of WebSocket (RFC 6455, section 5), without extensions. Nothing here reads or writes a socket. */

const FINAL = 0x80;
const RESERVED = 0x70;
const MASKED = 0x80;
const OPCODE = 0x0f;
const LENGTH_OF_2_BYTES = 126;
const LENGTH_OF_8_BYTES = 127;
const CONTINUATION = 0x0;
/** Opcodes from here on are control frames. */
const CONTROL = 0x8;
const CONTROL_BYTES_MAX = 125;

export interface FrameHearer {
  /** A whole message, text or bytes. It may lie in memory that the next read overwrites: who keeps it copies it. */
  message(payload: Buffer): void;
  /** A close, ping or pong by its opcode. The same holds for its payload. */
  control(opcode: number, payload: Buffer): void;
}

export class FrameReader {
  readonly #hearer: FrameHearer;
  /** The beginning of a frame whose length is not known yet. */
  #head: Buffer | null = null;
  /** A frame of which not all is there yet. */
  #open: { readonly first: number; readonly payload: Buffer; filled: number } | null = null;
  /** The frames so far of a message that has several; null when none is under way. */
  #pieces: Buffer[] | null = null;

  constructor(hearer: FrameHearer) {
    this.#hearer = hearer;
  }

  /** Reads on. @throws an Error where this is not what a server may say, and whatever the hearer throws. */
  read(chunk: Buffer): void {
    const bytes = this.#head === null ? chunk : Buffer.concat([this.#head, chunk]);
    this.#head = null;
    let at = this.#open === null ? 0 : this.#fill(bytes);
    while (at < bytes.length) {
      const lengthAt = at + 2;
      const short = at + 1 < bytes.length ? bytes[at + 1]! : null;
      if (short !== null && (short & MASKED) !== 0) throw new Error('the server sent a masked frame');
      const lengthBytes = short === LENGTH_OF_8_BYTES ? 8 : short === LENGTH_OF_2_BYTES ? 2 : 0;
      const from = lengthAt + lengthBytes;
      if (short === null || from > bytes.length) {
        this.#head = Buffer.from(bytes.subarray(at));
        return;
      }
      const length = lengthBytes === 0 ? short : lengthIn(bytes, lengthAt, lengthBytes);
      const first = bytes[at]!;
      at = from + length;
      if (at <= bytes.length) this.#take(first, bytes.subarray(from, at), 'passing');
      else {
        const payload = Buffer.allocUnsafe(length);
        this.#open = { first, payload, filled: bytes.copy(payload, 0, from) };
      }
    }
  }

  /** Puts what has come into the open frame; returns where the next one begins. */
  #fill(bytes: Buffer): number {
    const open = this.#open!;
    const read = bytes.copy(open.payload, open.filled);
    open.filled += read;
    if (open.filled === open.payload.length) {
      this.#open = null;
      this.#take(open.first, open.payload, 'lasting');
    }
    return read;
  }

  #take(first: number, payload: Buffer, memory: 'passing' | 'lasting'): void {
    const isFinal = (first & FINAL) !== 0;
    const opcode = first & OPCODE;
    if ((first & RESERVED) !== 0) throw new Error('the server sent a frame of an extension');
    if (opcode >= CONTROL) {
      if (!isFinal || payload.length > CONTROL_BYTES_MAX)
        throw new Error('the server sent a control frame in pieces, or a long one');
      this.#hearer.control(opcode, payload);
      return;
    }
    if ((opcode === CONTINUATION) !== (this.#pieces !== null))
      throw new Error('the server sent a piece of a message out of place');
    if (isFinal && this.#pieces === null) {
      this.#hearer.message(payload);
      return;
    }
    this.#pieces ??= [];
    this.#pieces.push(memory === 'passing' ? Buffer.from(payload) : payload);
    if (!isFinal) return;
    const whole = Buffer.concat(this.#pieces);
    this.#pieces = null;
    this.#hearer.message(whole);
  }
}

function lengthIn(bytes: Buffer, at: number, count: number): number {
  return count === 2 ? bytes.readUInt16BE(at) : Number(bytes.readBigUInt64BE(at));
}
