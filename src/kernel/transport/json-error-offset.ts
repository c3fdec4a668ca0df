/** Where a text stops being JSON. Engines word this differently and often leave it out; it is looked for only when parsing has failed. */

/** Offset in characters of the first one that does not fit. Recurses as deep as the text is nested: bound that first. */
export function jsonErrorOffset(text: string): number {
  const scanner = new Scanner(text);
  scanner.value();
  return scanner.at;
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const PLAIN = /[^"\\\u0000-\u001f]+/y;
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y;

/** Each method reads one thing and leaves `at` behind it; false: it is not there, and `at` is where it went wrong. */
class Scanner {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): boolean {
    this.#eat(SPACE);
    const char = this.#text[this.at];
    const isRead = char === '{' ? this.#list('}', () => this.#member()) : char === '[' ? this.#list(']', () => this.value()) : char === '"' ? this.#string() : this.#eat(SCALAR);
    this.#eat(SPACE);
    return isRead;
  }

  /** Items between two brackets, with commas between them and none behind the last. */
  #list(end: string, item: () => boolean): boolean {
    this.at += 1;
    this.#eat(SPACE);
    if (this.#eatChar(end)) return true;
    do {
      if (!item()) return false;
    } while (this.#eatChar(','));
    return this.#eatChar(end);
  }

  #member(): boolean {
    this.#eat(SPACE);
    if (!this.#string()) return false;
    this.#eat(SPACE);
    return this.#eatChar(':') && this.value();
  }

  #string(): boolean {
    if (!this.#eatChar('"')) return false;
    while (this.#eat(PLAIN) || this.#eat(ESCAPE)) continue;
    return this.#eatChar('"');
  }

  #eat(pattern: RegExp): boolean {
    pattern.lastIndex = this.at;
    if (!pattern.test(this.#text)) return false;
    this.at = pattern.lastIndex;
    return true;
  }

  #eatChar(char: string): boolean {
    if (this.#text[this.at] !== char) return false;
    this.at += 1;
    return true;
  }
}
