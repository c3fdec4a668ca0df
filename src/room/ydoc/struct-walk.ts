/** Structs of a span that was scanned, one by one. */
import { ByteReader } from './byte-reader.ts';
import { MARK_NUMBERS, type Scan, type Span, STORED, scanOf } from './scan.ts';
import { scanStruct } from './scan-struct.ts';

/** Where a struct begins. */
export interface StructPlace {
  readonly clock: number;
  readonly bytesFrom: number;
  /** In its span. */
  readonly structsBefore: number;
}

/** Stands at one struct of a span at a time; behind the last when `isOver`. */
export class StructWalk implements StructPlace {
  readonly #span: Span;
  readonly #scan: Scan;
  /** What the scan fills in of one struct. */
  readonly #one: Span;
  clock: number;
  bytesFrom: number;
  structsBefore: number;
  /** In clocks. */
  length = 0;
  /** What it needs of other clients, two numbers each: client, clock. Null when that is nothing. */
  needs: readonly number[] | null = null;

  /** @param update that was scanned */
  constructor(
    update: Uint8Array,
    span: Span,
    from: StructPlace = { clock: span.from, bytesFrom: span.bytesFrom, structsBefore: 0 },
  ) {
    const reader = new ByteReader(update);
    reader.at = from.bytesFrom;
    this.#span = span;
    this.#scan = scanOf(reader, STORED);
    this.#one = { ...span, to: from.clock, structs: 0, live: [] };
    this.clock = from.clock;
    this.bytesFrom = from.bytesFrom;
    this.structsBefore = from.structsBefore;
    this.#read();
  }

  get isOver(): boolean {
    return this.structsBefore === this.#span.structs;
  }

  next(): void {
    this.clock += this.length;
    this.bytesFrom = this.#scan.reader.at;
    this.structsBefore += 1;
    this.#read();
  }

  #read(): void {
    if (this.isOver) return;
    this.#one.to = this.clock;
    this.#one.firstNeeds = null; // of a span without structs the next is the first
    this.#scan.behind = null;
    this.length = scanStruct(this.#scan, this.#one, this.#scan.reader.byte());
    this.needs = this.#one.firstNeeds;
  }
}

/** Where the struct begins that holds `clock`, which lies in the span, of the update that was scanned. */
export function structPlace(update: Uint8Array, span: Span, clock: number): StructPlace {
  const walk = new StructWalk(update, span, lastMark(span, clock));
  while (walk.clock + walk.length <= clock) walk.next();
  return walk;
}

/** The last mark that is not behind `clock`, or the begin of the span. */
function lastMark({ marks, from, bytesFrom }: Span, clock: number): StructPlace {
  let low = 0;
  let high = (marks?.length ?? 0) / MARK_NUMBERS;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (marks![MARK_NUMBERS * middle]! <= clock) low = middle + 1;
    else high = middle;
  }
  if (low === 0) return { clock: from, bytesFrom, structsBefore: 0 };
  const at = MARK_NUMBERS * (low - 1);
  return { clock: marks![at]!, bytesFrom: marks![at + 1]!, structsBefore: marks![at + 2]! };
}
