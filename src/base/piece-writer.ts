/**
 * A long JSON text that is written again and again while little of it changes. It is written in pieces, and a piece that reads as the one before it is the
 * one before: what the text holds of memory anew is what has changed. Where a piece ends its members decide, within bounds of length, so that after
 * one that came or went the pieces are soon the same again.
 */
import { JsonWriter } from './json-writer.ts';
import { bytesIn } from './pieces.ts';
import { Utf8Writer } from './utf8-writer.ts';

/** By the member that each begins with, in order; the first has what comes before all members, and no name. */
export type NamedPieces = ReadonlyMap<string | null, Uint8Array>;

/** Shorter ones cost a send each, longer ones are made anew for more that has not changed. */
const PIECE_BYTES_MIN = 32 * 1024;
const PIECE_BYTES_MAX = 128 * 1024;
/** A longer one, of a single long member, is not left to the next writer. */
const SCRATCH_BYTES_MAX = 2 * PIECE_BYTES_MAX;
/** One member of so many may be the first of a piece. */
const MEMBERS_TO_A_FIRST = 128;

interface PieceWriterOptions {
  /** The text as it was written last. */
  readonly before: NamedPieces;
  /** What another writer has left. */
  readonly scratch: Utf8Writer | null;
  /** A guess. */
  readonly bytesExpected: number;
}

export class PieceWriter extends JsonWriter {
  readonly #before: NamedPieces;
  readonly #scratch: Utf8Writer;
  readonly #pieces = new Map<string | null, Uint8Array>();
  /** What the piece that is being written begins with. */
  #first: string | null = null;

  constructor({ before, scratch, bytesExpected }: PieceWriterOptions) {
    const out = scratch ?? new Utf8Writer(Math.min(bytesExpected, 2 * PIECE_BYTES_MIN));
    super(out);
    this.#scratch = out;
    this.#before = before;
  }

  /** Call it before a member is written, or whatever stands before it. @param name no two members of the text have the same */
  member(name: string): void {
    const { length } = this.#scratch;
    if (length < PIECE_BYTES_MIN || (length < PIECE_BYTES_MAX && !mayBeFirst(name))) return;
    this.#cut();
    this.#first = name;
  }

  /** So far. */
  get bytes(): number {
    return bytesIn([...this.#pieces.values()]) + this.#scratch.length;
  }

  /** All that was written; nothing is to be written any more. `scratch` is for the next writer; null when the text lies in it, or it is too long to keep. */
  end(): { readonly pieces: NamedPieces; readonly scratch: Utf8Writer | null } {
    if (this.#pieces.size === 0) return { pieces: new Map([[this.#first, this.#scratch.done()]]), scratch: null };
    this.#cut();
    return { pieces: this.#pieces, scratch: this.#scratch.capacity <= SCRATCH_BYTES_MAX ? this.#scratch : null };
  }

  #cut(): void {
    this.#pieces.set(this.#first, this.#scratch.cut(this.#before.get(this.#first)));
  }
}

/** By the name alone: FNV-1a, whose lowest bits change with each character. */
function mayBeFirst(name: string): boolean {
  let hash = 0x811c9dc5;
  for (let at = 0; at < name.length; at += 1) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193);
  return (hash >>> 0) % MEMBERS_TO_A_FIRST === 0;
}
