/**
 * Embeds and the values of formats are JSON in V1, and lib0's encoding of JSON-like values in V2. From the one to the other without making the values: a key that
 * reaches a prototype would be gone with the object.
 */
import { type ByteReader, invalidUpdate } from './byte-reader.ts';

const UNDEFINED = 127;
/** What a byte of a list of bytes takes at least, as JSON writes it: `"0":1,`. */
const CHARACTERS_PER_BYTE = 6;
/** What each value counts as beside its own: to read it takes as long as it takes to write so many. */
const CHARACTERS_PER_VALUE = 16;

interface Bounds {
  /** Where recursion ends. */
  readonly nestingMax: number;
  /** Of the texts of values, with what each counts as beside. */
  readonly charactersMax: number;
}

/**
 * The JSON text of the value that comes next, as `JSON.stringify` writes it; null for what it has no text for, since V1 cannot do without one.
 * @throws AppError YJS_UPDATE_INVALID
 */
export function anyToJson(reader: ByteReader, bounds: Bounds): string {
  return new JsonTexts(reader, bounds.charactersMax).next(bounds.nestingMax);
}

class JsonTexts {
  readonly #reader: ByteReader;
  #left: number;

  constructor(reader: ByteReader, charactersMax: number) {
    this.#reader = reader;
    this.#left = charactersMax;
  }

  next(levels: number): string {
    if (levels < 0) throw invalidUpdate('a value in it is nested too deeply');
    this.#count(CHARACTERS_PER_VALUE);
    const reader = this.#reader;
    const tag = reader.byte();
    switch (tag) {
      case UNDEFINED:
      case 126:
        return this.#counted('null');
      case 125:
        return this.#counted(JSON.stringify(reader.varInt()));
      case 124:
        return this.#counted(JSON.stringify(reader.float(4)));
      case 123:
        return this.#counted(JSON.stringify(reader.float(8)));
      case 121:
        return this.#counted('false');
      case 120:
        return this.#counted('true');
      case 119:
        return this.#text();
      case 118:
        return this.#object(levels);
      case 117:
        return `[${this.#list(reader.count(1), () => this.next(levels - 1))}]`;
      case 116:
        return this.#bytes();
      default:
        throw invalidUpdate(`it holds a value of the kind ${tag}, which JSON has not`);
    }
  }

  #object(levels: number): string {
    const reader = this.#reader;
    const properties = this.#list(reader.count(2), () => {
      const key = this.#text();
      const isLeftOut = reader.left > 0 && reader.bytes[reader.at] === UNDEFINED;
      const value = this.next(levels - 1);
      return isLeftOut ? null : `${key}:${value}`;
    });
    return `{${properties}}`;
  }

  #list(count: number, next: () => string | null): string {
    const parts: string[] = [];
    for (let left = count; left > 0; left -= 1) {
      const part = next();
      if (part !== null) parts.push(part);
    }
    return parts.join();
  }

  #text(): string {
    if (this.#reader.text() === 0) return '""';
    return this.#counted(JSON.stringify(this.#reader.lastText()));
  }

  /** As `JSON.stringify` writes a `Uint8Array`; a Buffer would write itself differently. */
  #bytes(): string {
    const { bytes } = this.#reader.part();
    this.#count(bytes.length * CHARACTERS_PER_BYTE);
    return JSON.stringify(Uint8Array.from(bytes));
  }

  #counted(text: string): string {
    this.#count(text.length);
    return text;
  }

  #count(characters: number): void {
    this.#left -= characters;
    if (this.#left < 0) throw invalidUpdate('a value in it is too long for V1');
  }
}
