/**
 * Reads the lib0 encoding of Yjs messages, strictly: what lib0 would read past the end, turn into NaN or allocate on a mere
 * promise is refused here. It knows varints and text, not what they mean.
 */
import { AppError } from '../../base/errors.ts';

/** A safe integer takes at most eight groups of seven bits. */
const VARINT_BYTES_MAX = 8;
/** Enough of a text to tell two edits apart; hashing all of a pasted page would double the cost of the scan. */
const PRINTED_BYTES_MAX = 32;

const scratch = new Float64Array(1);
const scratchWords = new Uint32Array(scratch.buffer);

export function invalidUpdate(reason: string): AppError {
  return new AppError('YJS_UPDATE_INVALID', { reason });
}

export class ByteReader {
  readonly bytes: Uint8Array;
  at = 0;
  /** Where the text that was read last lies. */
  textFrom = 0;
  textTo = 0;
  /** Fingerprint of what was fed to `mix…` since it was last set; 32 bits, for comparison only. */
  print = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  get left(): number {
    return this.bytes.length - this.at;
  }

  byte(): number {
    const byte = this.bytes[this.at];
    if (byte === undefined) throw invalidUpdate('it ends too early');
    this.at += 1;
    return byte;
  }

  /** 0 to 2⁵³ − 1. */
  varUint(): number {
    let value = 0;
    let weight = 1;
    for (let read = 0; read < VARINT_BYTES_MAX; read += 1) {
      const byte = this.byte();
      value += (byte & 0x7f) * weight;
      if (byte < 0x80) {
        if (value > Number.MAX_SAFE_INTEGER) break;
        return value;
      }
      weight *= 128;
    }
    throw invalidUpdate('a number is out of range');
  }

  /** Signed, as lib0 writes the integers of JSON-like values. */
  varInt(): number {
    const first = this.byte();
    let value = first & 0x3f;
    let weight = 64;
    for (let last = first, read = 1; last >= 0x80; read += 1) {
      if (read >= VARINT_BYTES_MAX) throw invalidUpdate('a number is out of range');
      last = this.byte();
      value += (last & 0x7f) * weight;
      weight *= 128;
    }
    return (first & 0x40) === 0 ? value : -value;
  }

  /** A declared count of things that take `bytesEach` bytes or more; refused when the bytes that are left cannot hold them. */
  count(bytesEach: number): number {
    const count = this.varUint();
    if (count > this.left / bytesEach) throw invalidUpdate('it declares more than its bytes can hold');
    return count;
  }

  skip(count: number): void {
    if (count > this.left) throw invalidUpdate('it ends too early');
    this.at += count;
  }

  /** Length-prefixed bytes, to be read by themselves. */
  part(): ByteReader {
    const length = this.varUint();
    const from = this.at;
    this.skip(length);
    return new ByteReader(this.bytes.subarray(from, this.at));
  }

  float(bytes: 4 | 8): number {
    const from = this.at;
    this.skip(bytes);
    const view = new DataView(this.bytes.buffer, this.bytes.byteOffset + from, bytes);
    return bytes === 4 ? view.getFloat32(0) : view.getFloat64(0);
  }

  /** Passes over length-prefixed bytes and prints their start. */
  blob(): void {
    const length = this.varUint();
    const from = this.at;
    this.skip(length);
    this.#mixBytes(from, length);
  }

  /** Passes over a text, prints its start, and returns its length in UTF-16 units, as Yjs counts. */
  text(): number {
    const length = this.varUint();
    this.textFrom = this.at;
    this.skip(length);
    this.textTo = this.at;
    this.#mixBytes(this.textFrom, length);
    return utf16Length(this.bytes, this.textFrom, this.textTo);
  }

  /** The text that was read last, as a string. */
  lastText(): string {
    return Buffer.from(this.bytes.buffer, this.bytes.byteOffset + this.textFrom, this.textTo - this.textFrom).toString('utf8');
  }

  mix(value: number): void {
    this.print = Math.imul(this.print ^ (value | 0), 0x01000193) >>> 0;
    if (value > 0xffffffff) this.print = Math.imul(this.print ^ Math.floor(value / 0x100000000), 0x01000193) >>> 0;
  }

  /** By value: 1 as an integer and 1 as a float are the same edit, encoded by different ports of Yjs. */
  mixNumber(value: number): void {
    scratch[0] = value + 0;
    this.mix(scratchWords[0]!);
    this.mix(scratchWords[1]!);
  }

  #mixBytes(from: number, length: number): void {
    this.mix(length);
    const to = from + Math.min(length, PRINTED_BYTES_MAX);
    for (let at = from; at < to; at += 1) this.mix(this.bytes[at]!);
  }
}

/**
 * How long the text is as a JavaScript string.
 * @throws AppError YJS_UPDATE_INVALID for bytes that are not UTF-8: Yjs would throw on them.
 */
function utf16Length(bytes: Uint8Array, from: number, to: number): number {
  let units = 0;
  let at = from;
  while (at < to) {
    const byte = bytes[at]!;
    if (byte < 0x80) {
      at += 1;
      units += 1;
      continue;
    }
    const size = sequenceSize(byte, at + 1 < to ? bytes[at + 1]! : 0);
    if (size === 0 || at + size > to) throw notUtf8();
    for (let next = at + 1; next < at + size; next += 1) if ((bytes[next]! & 0xc0) !== 0x80) throw notUtf8();
    at += size;
    units += size === 4 ? 2 : 1;
  }
  return units;
}

/** Bytes in the sequence that `lead` opens, or 0: overlong forms, surrogates and what lies beyond U+10FFFF are not UTF-8. */
function sequenceSize(lead: number, next: number): number {
  if (lead < 0xc2 || lead > 0xf4) return 0;
  if (lead < 0xe0) return 2;
  if (lead < 0xf0) return (lead === 0xe0 && next < 0xa0) || (lead === 0xed && next > 0x9f) ? 0 : 3;
  return (lead === 0xf0 && next < 0x90) || (lead === 0xf4 && next > 0x8f) ? 0 : 4;
}

function notUtf8(): AppError {
  return invalidUpdate('a text is not UTF-8');
}
