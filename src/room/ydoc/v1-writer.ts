/** Writes the bytes of a V1 update, so many at most: whatever is written takes room, so that nothing can be written without end. */
import { invalidUpdate } from './byte-reader.ts';

const VARINT_BYTES_MAX = 8;
/** Below, a call of Node's takes longer than the letters. */
const SHORT_TEXT_MAX = 32;

export class V1Writer {
  readonly #bytesMax: number;
  #bytes: Buffer;
  #at = 0;

  /** @param bytesFirst taken at once */
  constructor(bytesFirst: number, bytesMax: number) {
    this.#bytesMax = bytesMax;
    this.#bytes = Buffer.allocUnsafe(Math.min(bytesFirst, bytesMax));
  }

  get bytesLeft(): number {
    return this.#bytesMax - this.#at;
  }

  byte(value: number): void {
    this.#makeRoom(1);
    this.#bytes[this.#at] = value;
    this.#at += 1;
  }

  varUint(value: number): void {
    if (!(value >= 0 && value <= Number.MAX_SAFE_INTEGER)) throw invalidUpdate('a number is out of range');
    this.#makeRoom(VARINT_BYTES_MAX);
    let left = value;
    for (; left >= 0x80; left = Math.floor(left / 0x80)) {
      this.#bytes[this.#at] = 0x80 | (left % 0x80);
      this.#at += 1;
    }
    this.#bytes[this.#at] = left;
    this.#at += 1;
  }

  /** Halves of a pair become U+FFFD, as wherever Yjs writes them. */
  text(text: string): void {
    if (text.length <= SHORT_TEXT_MAX && this.#shortText(text)) return;
    const length = Buffer.byteLength(text);
    this.varUint(length);
    this.#makeRoom(length);
    this.#at += this.#bytes.write(text, this.#at, length, 'utf8');
  }

  /** As most are. Returns false, with nothing written, for one that is not ASCII. */
  #shortText(text: string): boolean {
    this.#makeRoom(1 + text.length);
    for (let at = 0; at < text.length; at += 1) {
      const unit = text.charCodeAt(at);
      if (unit >= 0x80) return false;
      this.#bytes[this.#at + 1 + at] = unit;
    }
    this.#bytes[this.#at] = text.length;
    this.#at += 1 + text.length;
    return true;
  }

  copy(bytes: Uint8Array): void {
    this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#at);
    this.#at += bytes.length;
  }

  /** A copy of what is written. */
  toBytes(): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(0, this.#at));
  }

  #makeRoom(bytes: number): void {
    const needed = this.#at + bytes;
    if (needed <= this.#bytes.length) return;
    if (needed > this.#bytesMax) throw invalidUpdate(`in V1 it would be longer than ${this.#bytesMax} bytes`);
    const larger = Buffer.allocUnsafe(Math.min(2 * needed, this.#bytesMax));
    this.#bytes.copy(larger, 0, 0, this.#at);
    this.#bytes = larger;
  }
}
