/** Where a text stops being JSON. Engines word this differently and often leave it out; it is looked for only when parsing has failed. */

/** Offset in characters of the first one that does not fit. Recurses as deep as the text is nested: bound that first. */
export function jsonErrorOffset(text: string): number {
  const scanner = new Scanner(text);
  scanner.value();
  return scanner.at;
}

const SPACE = /[ \t\n\r]*/y;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** What a string may hold as it is: from the space on, but for the quote and the backslash. */
const PLAIN = /[ !#-[\]-\uffff]+/y;
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
    return this.#read(this.#text[this.at]) && this.#eat(SPACE);
  }

  #read(first: string | undefined): boolean {
    switch (first) {
      case '{':
        return this.#list('}', () => this.#member());
      case '[':
        return this.#list(']', () => this.value());
      case '"':
        return this.#string();
      default:
        return this.#eat(SCALAR);
    }
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
    while (this.#eat(PLAIN) || this.#eat(ESCAPE));
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
