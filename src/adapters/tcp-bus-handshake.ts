/**
 * The words of the handshake between two workers, as bytes. It does no I/O.
 *
 * The dialer says hello, the other welcomes it, each with a nonce; then the dialer proves that it knows the secret, and the other one does.
 * A proof is an HMAC over hello and welcome under the role of who gives it. So it is worth nothing in another connection, between other
 * workers or other lives of them, or sent back to where it came from; and a stranger is given no proof. The frames after it are neither
 * signed nor encrypted: who can write into others' connections needs a private network or IPsec to be kept out.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { asWorkerAddress, type WorkerAddress } from '../base/ids.ts';

/** A worker refuses a peer of a newer version than its own, and speaks the older version with an older peer. */
const VERSION = 1;
export const NONCE_BYTES = 32;
export const PROOF_BYTES = 32;
/** Eight letters for which word it is, one byte of version, two of length. */
export const HEAD_BYTES = 11;
const LETTERS = { hello: 'atriumHI', welcome: 'atriumOK' } as const;
const LINK_ID_BYTES = 16;
const TEXT_BYTES_MAX = 255;
export const WORD_BYTES_MAX = NONCE_BYTES + LINK_ID_BYTES + 3 * (1 + TEXT_BYTES_MAX);

export interface Hello {
  readonly nonce: Uint8Array;
  /** The link to this peer that ended last on the dialer's side, so that the peer knows it for dead; `NO_LINK` if there was none. */
  readonly endedLinkId: string;
  readonly life: string;
  readonly from: WorkerAddress;
  readonly to: WorkerAddress;
}

export interface Welcome {
  readonly nonce: Uint8Array;
  readonly life: string;
}

export const NO_LINK = '0'.repeat(2 * LINK_ID_BYTES);

export function packHello({ nonce, endedLinkId, life, from, to }: Hello): Uint8Array {
  return word('hello', [nonce, Buffer.from(endedLinkId, 'hex'), text(life), text(from), text(to)]);
}

export function packWelcome({ nonce, life }: Welcome): Uint8Array {
  return word('welcome', [nonce, text(life)]);
}

/** How many bytes follow the head, or why it is not listened to. */
export function readHead(head: Uint8Array, kind: keyof typeof LETTERS): number | 'no worker' | 'newer version' {
  const bytes = Buffer.from(head);
  const version = bytes[8]!;
  if (bytes.toString('latin1', 0, 8) !== LETTERS[kind] || version === 0) return 'no worker';
  if (version > VERSION) return 'newer version';
  const size = bytes.readUInt16BE(9);
  return size <= WORD_BYTES_MAX ? size : 'no worker';
}

/** Null when the bytes are no hello. */
export function unpackHello(body: Uint8Array): Hello | null {
  const reader = new WordReader(body);
  const nonce = reader.bytes(NONCE_BYTES);
  const endedLinkId = Buffer.from(reader.bytes(LINK_ID_BYTES)).toString('hex');
  const [life, from, to] = [reader.text(), reader.text(), reader.text()];
  return reader.isExact ? { nonce, endedLinkId, life, from: asWorkerAddress(from), to: asWorkerAddress(to) } : null;
}

/** Null when the bytes are no welcome. */
export function unpackWelcome(body: Uint8Array): Welcome | null {
  const reader = new WordReader(body);
  const [nonce, life] = [reader.bytes(NONCE_BYTES), reader.text()];
  return reader.isExact ? { nonce, life } : null;
}

/** Both words, whole, as they crossed the wire. */
export type Transcript = readonly [hello: Uint8Array, welcome: Uint8Array];

export function proofOf(role: 'dialer' | 'listener', secret: Uint8Array, transcript: Transcript): Uint8Array {
  return digest(`proof of the ${role}`, secret, transcript);
}

export function isProof(given: Uint8Array, role: 'dialer' | 'listener', secret: Uint8Array, transcript: Transcript): boolean {
  return given.byteLength === PROOF_BYTES && timingSafeEqual(given, proofOf(role, secret, transcript));
}

/** What both sides call the link that begins here. */
export function linkIdOf(secret: Uint8Array, transcript: Transcript): string {
  return Buffer.from(digest('link', secret, transcript)).toString('hex', 0, LINK_ID_BYTES);
}

function digest(purpose: string, secret: Uint8Array, [hello, welcome]: Transcript): Uint8Array {
  return createHmac('sha256', secret).update(`atrium bus, ${purpose}\0`).update(hello).update(welcome).digest();
}

function word(kind: keyof typeof LETTERS, parts: readonly Uint8Array[]): Uint8Array {
  const body = Buffer.concat(parts);
  const head = Buffer.alloc(HEAD_BYTES, LETTERS[kind], 'latin1');
  head[8] = VERSION;
  head.writeUInt16BE(body.length, 9);
  return Buffer.concat([head, body]);
}

function text(value: string): Uint8Array {
  const bytes = Buffer.from(value);
  if (bytes.length === 0 || bytes.length > TEXT_BYTES_MAX)
    throw new Error(`bus: a name or address has 1 to ${TEXT_BYTES_MAX} bytes`);
  return Buffer.concat([Uint8Array.of(bytes.length), bytes]);
}

/** Reads on past the end as if there were zeros; `isExact` tells. */
class WordReader {
  readonly #body: Buffer;
  #at = 0;

  constructor(body: Uint8Array) {
    this.#body = Buffer.from(body);
  }

  /** Whether all that was read was there, and nothing is left. */
  get isExact(): boolean {
    return this.#at === this.#body.length;
  }

  bytes(size: number): Uint8Array {
    const part = new Uint8Array(size);
    part.set(this.#body.subarray(this.#at, this.#at + size));
    this.#at += size;
    return part;
  }

  text(): string {
    const [size] = this.bytes(1);
    return Buffer.from(this.bytes(size!)).toString();
  }
}
