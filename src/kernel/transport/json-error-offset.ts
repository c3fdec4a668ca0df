/** Where a text stops being JSON. Engines word this differently and often leave it out; it is looked for only when parsing has failed. */

/** Offset in characters of the first one that does not fit. Recurses as deep as the text is nested: bound that first. */
export function jsonErrorOffset(text: string): number {
  const scanner = new Scanner(text);
  scanner.value();
  return scanner.at;
}

/** Runs of characters are left to regular expressions; what is there once is looked at first, for each of them costs some 50 ns to begin. */
const SPACE = /[ \t\n\r]+/y;
const SPACE_CODE_MAX = 0x20;
const SCALAR = /true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
/** Items of an array, each with its comma: as many at once as cannot fill the stack on which the runtime keeps its ways back. */
const SCALARS = new RegExp(`(?:[ \\t\\n\\r]*(?:${SCALAR.source})[ \\t\\n\\r]*,){1,200}`, 'y');
/** What a string may hold as it is: from the space on, but for the quote and the backslash. */
const PLAIN = /[ !#-[\]-\uffff]+/y;
const ESCAPES = /(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})){1,200}/y;

/** Each method reads one thing and leaves `at` behind it; false: it is not there, and `at` is where it went wrong. */
class Scanner {
  readonly #text: string;
  at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): boolean {
    this.#space();
    if (!this.#read(this.#text[this.at])) return false;
    this.#space();
    return true;
  }

  #read(first: string | undefined): boolean {
    switch (first) {
      case '{':
        return this.#list('}', () => this.#member());
      case '[':
        return this.#list(']', () => this.#item());
      case '"':
        return this.#string();
      default:
        return this.#eat(SCALAR);
    }
  }

  /** Items between two brackets, with commas between them and none behind the last. */
  #list(end: string, item: () => boolean): boolean {
    this.at += 1;
    this.#space();
    if (this.#eatChar(end)) return true;
    do {
      if (!item()) return false;
    } while (this.#eatChar(','));
    return this.#eatChar(end);
  }

  /** With all before it that are no lists and no strings. */
  #item(): boolean {
    while (this.#eat(SCALARS));
    return this.value();
  }

  #member(): boolean {
    this.#space();
    if (!this.#string()) return false;
    this.#space();
    return this.#eatChar(':') && this.value();
  }

  #string(): boolean {
    if (!this.#eatChar('"')) return false;
    while (this.#eat(PLAIN) || (this.#text[this.at] === '\\' && this.#eat(ESCAPES)));
    return this.#eatChar('"');
  }

  #space(): void {
    if (this.#text.charCodeAt(this.at) <= SPACE_CODE_MAX) this.#eat(SPACE);
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
