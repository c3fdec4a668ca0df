/** JSON made of very many small pieces, as UTF-8 from the start (`utf8-writer.ts`). */
import type { Json } from './json.ts';
import type { Utf8Writer } from './utf8-writer.ts';

export class JsonWriter {
  readonly #out: Utf8Writer;

  constructor(out: Utf8Writer) {
    this.#out = out;
  }

  /** Writes what is JSON already, or a part of it. */
  raw(text: string): void {
    this.#out.write(text);
  }

  value(value: Json): void {
    if (typeof value === 'string') this.text(value);
    else this.#out.write(typeof value === 'number' ? String(value) : JSON.stringify(value)); // JSON has no other numbers
  }

  text(text: string): void {
    this.#out.writeQuoted(text);
  }

  /** `"name":` */
  name(name: string): void {
    this.#out.writeQuoted(name);
    this.#out.write(':');
  }

  /** `"name":value,"name":value` */
  members(members: Iterable<readonly [name: string, value: Json]>): void {
    let isFirst = true;
    for (const [name, value] of members) {
      if (!isFirst) this.#out.write(',');
      isFirst = false;
      this.name(name);
      this.value(value);
    }
  }
}
