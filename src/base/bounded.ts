/** Bounds that answer instead of growing: a token bucket for rates, a queue for what must wait. They know neither clocks nor sockets. */

/** `perSecond` on average, `burst` at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

/** Times are monotonic milliseconds. All buckets of one kind share their rate: of connections there are many. */
export class TokenBucket {
  readonly #rate: Rate;
  #tokens: number;
  #filledAtMs: number;

  constructor(rate: Rate, nowMs: number) {
    this.#rate = rate;
    this.#tokens = rate.burst;
    this.#filledAtMs = nowMs;
  }

  /** Takes `amount` tokens, or none and returns false. An amount above `burst` can never be had. */
  take(nowMs: number, amount = 1): boolean {
    const { perSecond, burst } = this.#rate;
    this.#tokens = Math.min(burst, this.#tokens + ((nowMs - this.#filledAtMs) * perSecond) / 1_000);
    this.#filledAtMs = nowMs;
    if (this.#tokens < amount) return false;
    this.#tokens -= amount;
    return true;
  }
}

/** First in, first out, bounded in items and in bytes. */
export class BoundedQueue<Item> {
  readonly #itemsMax: number;
  readonly #bytesMax: number;
  readonly #entries: ({ readonly item: Item; readonly bytes: number } | undefined)[] = [];
  /** Entries before it are gone; they are cut off together, because shifting an array one by one moves all that is left. */
  #first = 0;
  #bytes = 0;

  constructor({ itemsMax, bytesMax }: { itemsMax: number; bytesMax: number }) {
    this.#itemsMax = itemsMax;
    this.#bytesMax = bytesMax;
  }

  get size(): number {
    return this.#entries.length - this.#first;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** False when it would not fit: nothing is changed. One item above all of `bytesMax` fits nowhere. */
  push(item: Item, bytes: number): boolean {
    if (this.size >= this.#itemsMax || this.#bytes + bytes > this.#bytesMax) return false;
    this.#entries.push({ item, bytes });
    this.#bytes += bytes;
    return true;
  }

  shift(): Item | undefined {
    const entry = this.#entries[this.#first];
    if (entry === undefined) return undefined;
    this.#entries[this.#first] = undefined; // it may be large
    this.#first += 1;
    this.#bytes -= entry.bytes;
    if (this.#first * 2 >= this.#entries.length) {
      this.#entries.splice(0, this.#first);
      this.#first = 0;
    }
    return entry.item;
  }
}
