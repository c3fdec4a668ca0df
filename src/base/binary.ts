/**
 * Bytes in and out: MessagePack for what we store or send between workers, base64 for what rides in JSON. One place, so
 * that a stored format changes in one place.
 */
import { decode, decodeMulti, Encoder } from '@msgpack/msgpack';

// One encoder for all: it keeps its buffer between calls, and `encode` copies the result out of it.
const encoder = new Encoder();

/** Bytes of plain data: JSON values, Uint8Array; undefined properties are left out by callers. */
export function pack(value: unknown): Uint8Array {
  return encoder.encode(value);
}

/** @throws an Error when the bytes are not one MessagePack value. */
export function unpack(bytes: Uint8Array): unknown {
  return decode(bytes);
}

/** The values that were packed one after the other. */
export function unpackAll(bytes: Uint8Array): unknown[] {
  return [...decodeMulti(bytes)];
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** Standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The bytes, or null when the text is not standard base64 (Node's own decoder skips what it does not know). */
export function fromBase64(text: string): Uint8Array | null {
  return BASE64.test(text) ? Buffer.from(text, 'base64') : null;
}
