/**
 * Text made of very many small pieces, as bytes from the start. Strings that are added up stay in pieces until somebody reads them, and all of those are
 * garbage then, much of it no longer young.
 */

/** Longer pieces are worth a call into native code. */
const SHORT = 64;
/** Of one UTF-16 code unit in UTF-8. */
const BYTES_MAX = 3;

export class Utf8Writer {
  #bytes: Buffer;
  #length = 0;

  /** Room for so many bytes; more is made when it is needed. */
  constructor(bytesExpected: number) {
    this.#bytes = Buffer.allocUnsafeSlow(bytesExpected);
  }

  write(text: string): void {
    const isShort = text.length <= SHORT;
    this.#makeRoom(isShort ? text.length * BYTES_MAX : Buffer.byteLength(text));
    if (!isShort || !this.#writeAscii(text)) this.#length += this.#bytes.write(text, this.#length, 'utf8');
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

  #makeRoom(more: number): void {
    if (this.#length + more <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafeSlow(Math.max(this.#length + more, this.#bytes.length * 2));
    this.#bytes.copy(larger, 0, 0, this.#length);
    this.#bytes = larger;
  }
}
