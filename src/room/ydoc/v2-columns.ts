/**
 * The columns of an update in the V2 encoding of Yjs, as lib0 writes them: what all structs have in common stands together, and what repeats stands once, with how
 * often. To read a number takes as long whatever its run is; how many may be read is for whoever reads to bound.
 */
import { type ByteReader, invalidUpdate } from './byte-reader.ts';

/** Whole numbers; a sign says that a count follows. */
export class UintColumn {
  readonly #reader: ByteReader;
  #value = 0;
  #left = 0;

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  next(): number {
    if (this.#left === 0) {
      const read = this.#reader.varInt();
      const isRun = Object.is(read, -0) || read < 0;
      this.#value = Math.abs(read);
      this.#left = isRun ? this.#reader.varUint() + 2 : 1;
    }
    this.#left -= 1;
    return this.#value;
  }
}

/** Distances from one number to the next; the lowest bit says that a count follows. */
export class DiffColumn {
  readonly #reader: ByteReader;
  #value = 0;
  #diff = 0;
  #left = 0;

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  next(): number {
    if (this.#left === 0) {
      const read = this.#reader.varInt();
      this.#diff = Math.floor(read / 2);
      this.#left = read % 2 === 0 ? 1 : this.#reader.varUint() + 2;
    }
    this.#left -= 1;
    this.#value += this.#diff;
    return this.#value;
  }
}

/** Bytes, each with a count, but for the last, which goes on. */
export class ByteColumn {
  readonly #reader: ByteReader;
  #value = 0;
  #left = 0;

  constructor(reader: ByteReader) {
    this.#reader = reader;
  }

  next(): number {
    if (this.#left === 0) {
      this.#value = this.#reader.byte();
      this.#left = this.#reader.left > 0 ? this.#reader.varUint() + 1 : Number.POSITIVE_INFINITY;
    }
    this.#left -= 1;
    return this.#value;
  }
}

/** All texts in one, and how long each of them is. */
export class TextColumn {
  readonly #all: string;
  readonly #lengths: UintColumn;
  #at = 0;

  /** @throws AppError YJS_UPDATE_INVALID for bytes that are not UTF-8 */
  constructor(reader: ByteReader) {
    reader.text();
    this.#all = reader.lastText();
    this.#lengths = new UintColumn(reader);
  }

  next(): string {
    const from = this.#at;
    this.#at += this.#lengths.next();
    if (this.#at > this.#all.length) throw invalidUpdate('a text in it ends too early');
    return this.#all.slice(from, this.#at);
  }
}
