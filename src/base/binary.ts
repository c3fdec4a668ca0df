/**
 * Bytes in and out: MessagePack for what we store or send between workers, base64 for what rides in JSON. One place, so
 * that a stored format changes in one place.
 */
import { isAscii } from 'node:buffer';
import { decode, decodeMulti, Encoder, ExtensionCodec } from '@msgpack/msgpack';

// One encoder for all: it keeps its buffer between calls.
const encoder = new Encoder();

/** Bytes of plain data: JSON values, Uint8Array; undefined properties are left out by callers. */
export function pack(value: unknown): Uint8Array {
  return Buffer.from(encoder.encodeSharedRef(value)); // short ones into Node's pool, for each change is one
}

const TAG_MAX = 127;
const PAIR = 0x92;
const TEXT_32 = 0xdb;

/** As `pack([tag, text])`, written down directly: the encoder's way costs four times as much, for each change of Storage. @param tag 0 to 127 */
export function packText(tag: number, text: string): Uint8Array {
  const length = Buffer.byteLength(text);
  const bytes = Buffer.allocUnsafe(7 + length);
  bytes[0] = PAIR;
  bytes[1] = tag;
  bytes[2] = TEXT_32;
  bytes.writeUInt32BE(length, 3);
  bytes.write(text, 7);
  return bytes;
}

const TRIPLE = 0x93;
const NO_TEXT = 0xa0;
const BYTES_32 = 0xc6;

/** As `pack([tag, '', bytes])`, written down directly for the same reason, for each change of a Yjs document. @param tag 0 to 127 */
export function packBytes(tag: number, bytes: Uint8Array): Uint8Array {
  const packed = Buffer.allocUnsafe(8 + bytes.length);
  packed[0] = TRIPLE;
  packed[1] = tag;
  packed[2] = NO_TEXT;
  packed[3] = BYTES_32;
  packed.writeUInt32BE(bytes.length, 4);
  packed.set(bytes, 8);
  return packed;
}

const ARRAY = 0x90;
const TEXT_8 = 0xd9;
const FLOAT_64 = 0xcb;
const NULL = 0xc0;

/**
 * As `pack([tag, ...texts, number, null])`, written down directly for the same reason.
 * @param tag 0 to 127
 * @param texts at most 12, of at most 255 characters of ASCII each
 */
export function packTextsAndNumber(tag: number, texts: readonly string[], number: number): Uint8Array {
  let length = 12;
  for (const text of texts) length += 2 + text.length;
  const bytes = Buffer.allocUnsafe(length);
  bytes[0] = ARRAY + texts.length + 3;
  bytes[1] = tag;
  let at = 2;
  for (const text of texts) {
    bytes[at] = TEXT_8;
    bytes[at + 1] = text.length;
    putAscii(bytes, text, at + 2);
    at += 2 + text.length;
  }
  bytes[at] = FLOAT_64;
  bytes.writeDoubleBE(number, at + 1);
  bytes[at + 9] = NULL;
  return bytes;
}

/** @throws an Error when the bytes are not one MessagePack value. */
export function unpack(bytes: Uint8Array): unknown {
  return decode(bytes);
}

/** The values that were packed one after the other. @throws an Error when the bytes are no such values. */
export function unpackAll(bytes: Uint8Array): unknown[] {
  const values: unknown[] = [];
  const source = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  while (at < source.length) {
    const written = textAt(source, at) ?? bytesAt(source, at);
    if (written === null) return values.concat([...decodeMulti(source.subarray(at))]);
    values.push(written.value);
    at = written.end;
  }
  return values;
}

interface Written {
  readonly value: readonly unknown[];
  /** Where the next one begins. */
  readonly end: number;
}

/** What `packText` wrote, read as directly as it was written: a journal is thousands of these, and the decoder takes twice as long. Null for anything else. */
function textAt(source: Buffer, at: number): Written | null {
  const from = at + 7;
  if (from > source.length || source[at] !== PAIR || source[at + 1]! > TAG_MAX || source[at + 2] !== TEXT_32) return null;
  const end = from + source.readUInt32BE(at + 3);
  return end > source.length ? null : { value: [source[at + 1], source.toString('utf8', from, end)], end };
}

/** What `packBytes` wrote, in the same way. */
function bytesAt(source: Buffer, at: number): Written | null {
  const from = at + 8;
  const isThat = from <= source.length && source[at] === TRIPLE && source[at + 2] === NO_TEXT && source[at + 3] === BYTES_32;
  if (!isThat || source[at + 1]! > TAG_MAX) return null;
  const end = from + source.readUInt32BE(at + 4);
  return end > source.length ? null : { value: [source[at + 1], '', source.subarray(from, end)], end };
}

/** Storage nests 300 deep at most; what a message puts around it needs a few levels more. */
const MESSAGE_DEPTH_MAX = 320;
/** A buffer that one large message has grown beyond this is not kept. */
const KEPT_BYTES_MAX = 1024 * 1024;
const MESSAGE_CODEC = messageCodec();
const newMessageEncoder = (): Encoder =>
  new Encoder({ maxDepth: MESSAGE_DEPTH_MAX, ignoreUndefined: true, extensionCodec: MESSAGE_CODEC });
let messageEncoder = newMessageEncoder();

/**
 * Bytes of a message to another worker: JSON values, whatever their keys, nested up to 320 deep, and Uint8Array. Undefined properties are left
 * out. Valid until the next call: copy them.
 * @throws an Error when the value is not plain data.
 */
export function packMessage(value: unknown): Uint8Array {
  const bytes = messageEncoder.encodeSharedRef(value);
  if (bytes.buffer.byteLength > KEPT_BYTES_MAX) messageEncoder = newMessageEncoder();
  return bytes;
}

/** What `packMessage` packed; bytes in it are parts of the given ones. @throws an Error when it is no such thing. */
export function unpackMessage(bytes: Uint8Array): unknown {
  return decode(bytes, { extensionCodec: MESSAGE_CODEC });
}

/** The library refuses to read an object with the key `__proto__`, which JSON.parse makes of hostile text: it travels as its entries. */
function messageCodec(): ExtensionCodec {
  const codec = new ExtensionCodec();
  const encodeEntries = (value: unknown): Uint8Array | null =>
    Object.hasOwn(value as object, '__proto__')
      ? newMessageEncoder().encode(Object.entries(value as object).filter(([, item]) => item !== undefined))
      : null;
  const decodeEntries = (bytes: Uint8Array): unknown => Object.fromEntries(unpackMessage(bytes) as [string, unknown][]);
  codec.register({ type: 0, encode: encodeEntries, decode: decodeEntries });
  return codec;
}

/** Called by itself: V8 looks a method of texts up anew at each call where they are of many kinds, which takes three times as long as all else in the loop. */
const { charCodeAt } = String.prototype;

/** Writes a text of ASCII from a place in `bytes` on. */
export function putAscii(bytes: Uint8Array, text: string, from: number): void {
  const { length } = text;
  for (let at = 0; at < length; at += 1) bytes[from + at] = charCodeAt.call(text, at);
}

/** The text in bytes that are all ASCII, as most are, in a quarter of the time of a decoder; null for others. */
export function asciiText(bytes: Uint8Array): string | null {
  return isAscii(bytes) ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1') : null;
}

export function concat(parts: readonly Uint8Array[]): Uint8Array {
  return parts.length === 1 ? parts[0]! : Buffer.concat(parts);
}

/** The first `count` bytes of `head`, which are few, and all of `body`. */
export function prefixed(body: Uint8Array, head: Uint8Array, count: number): Uint8Array {
  const bytes = Buffer.allocUnsafe(count + body.length);
  for (let at = 0; at < count; at += 1) bytes[at] = head[at]!;
  bytes.set(body, count);
  return bytes;
}

/** Standard base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}

/** Looks at one character after another: a pattern that repeats a group keeps a place to go back to for each, and V8 gives up after some 5 MB of them. */
const NOT_BASE64 = /[^A-Za-z0-9+/]/;

/** The bytes, or null when the text is not standard base64 (Node's own decoder skips what it does not know). */
export function fromBase64(text: string): Uint8Array | null {
  const padding = text.endsWith('==') ? 2 : Number(text.endsWith('='));
  if (text.length % 4 !== 0 || NOT_BASE64.test(text.slice(0, text.length - padding))) return null;
  return Buffer.from(text, 'base64');
}
