/**
 * Text made of very many small pieces, as bytes from the start. Strings that are added up stay in pieces until somebody reads them, and all of those are
 * garbage then, much of it no longer young.
 */

/** Longer pieces are worth a call into native code. */
const SHORT = 64;
/** Of one UTF-16 code unit in UTF-8. */
const BYTES_MAX = 3;
const [SPACE, QUOTE, BACKSLASH, TILDE] = [0x20, 0x22, 0x5c, 0x7e];

export class Utf8Writer {
  #bytes: Buffer;
  #length = 0;

  /** Room for so many bytes; more is made when it is needed. */
  constructor(bytesExpected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytesExpected);
  }

  /** Of what was written, in bytes. */
  get length(): number {
    return this.#length;
  }

  /** Of the memory that it has for now. */
  get capacity(): number {
    return this.#bytes.length;
  }

  write(text: string): void {
    const isShort = text.length <= SHORT;
    this.#makeRoom(isShort ? text.length * BYTES_MAX : Buffer.byteLength(text));
    if (!isShort || !this.#writeAscii(text)) this.#length += this.#bytes.write(text, this.#length, 'utf8');
  }

  /** Writes `text` as a JSON string. */
  writeQuoted(text: string): void {
    if (text.length > SHORT || !this.#writePlain(text)) this.write(JSON.stringify(text));
  }

  /** All that was written, as a copy, or `before` itself where it reads as that; what is written next is the first. */
  cut(before: Uint8Array | undefined): Uint8Array {
    const written = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    if (before !== undefined && written.equals(before)) return before;
    const bytes = Buffer.allocUnsafeSlow(written.length);
    bytes.set(written);
    return bytes;
  }

  /** All that was written; nothing is to be written any more. What is kept of it keeps at most twice as much memory. */
  done(): Uint8Array {
    const { buffer, length } = this.#bytes;
    return this.#length * 2 < length ? Buffer.from(buffer.slice(0, this.#length)) : this.#bytes.subarray(0, this.#length);
  }

  /** False where `text` is more than ASCII: then nothing is written. */
  #writeAscii(text: string): boolean {
    const bytes = this.#bytes;
    const start = this.#length;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > 0x7f) return false;
      bytes[start + at] = code;
    }
    this.#length = start + text.length;
    return true;
  }

  /** Between quotation marks; false where `text` has what JSON writes in another way, or is more than ASCII: then nothing is written. */
  #writePlain(text: string): boolean {
    this.#makeRoom(text.length + 2);
    const bytes = this.#bytes;
    let at = this.#length;
    bytes[at++] = QUOTE;
    for (let index = 0; index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      if (code < SPACE || code > TILDE || code === QUOTE || code === BACKSLASH) return false;
      bytes[at++] = code;
    }
    bytes[at++] = QUOTE;
    this.#length = at;
    return true;
  }

  #makeRoom(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#length + more, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
