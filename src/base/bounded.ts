/** Bounds that answer instead of growing: a token bucket for rates, a queue for what must wait. They know neither clocks nor sockets. */

/** `perSecond` on average, `burst` at once. Times are monotonic milliseconds. */
export class TokenBucket {
  readonly #perMs: number;
  readonly #burst: number;
  #tokens: number;
  #filledAtMs: number;

  constructor({ perSecond, burst, nowMs }: { perSecond: number; burst: number; nowMs: number }) {
    this.#perMs = perSecond / 1_000;
    this.#burst = burst;
    this.#tokens = burst;
    this.#filledAtMs = nowMs;
  }

  /** Takes `amount` tokens, or none and returns false. An amount above `burst` can never be had. */
  take(nowMs: number, amount = 1): boolean {
    this.#tokens = Math.min(this.#burst, this.#tokens + (nowMs - this.#filledAtMs) * this.#perMs);
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
  readonly #entries: { readonly item: Item; readonly bytes: number }[] = [];
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
    this.#first += 1;
    this.#bytes -= entry.bytes;
    if (this.#first * 2 >= this.#entries.length) {
      this.#entries.splice(0, this.#first);
      this.#first = 0;
    }
    return entry.item;
  }
}
