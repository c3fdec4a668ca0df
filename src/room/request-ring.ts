/**
 * Requests by their ids, oldest first, in arrays of bytes. In a busy room ten thousand of them come and go within a second: as objects they would be
 * what the collector of garbage is mostly busy with, for they live just long enough to grow old, and would take four times the memory. Snapshots take the
 * slots as they lie.
 *
 * What is in it is told apart by an index of slots (open addressing, linear probing). It knows neither ages nor answers.
 */
import { asciiText, concat, putAscii } from '../base/binary.ts';

/** In ASCII: digests, cut to these lengths where they are made (`kernel/transport/idempotency.ts`). */
const ID_CHARACTERS_MAX = 22;
const DIGEST_CHARACTERS_MAX = 16;
/** A slot, as it is stored, too: both lengths, id, digest, time (a double, its first byte first). Of one that was taken out the id has no length. */
const ID_AT = 2;
const DIGEST_AT = ID_AT + ID_CHARACTERS_MAX;
const TIME_AT = DIGEST_AT + DIGEST_CHARACTERS_MAX;
const SLOT_BYTES = TIME_AT + 8;
const SLOTS_MIN = 4;
/** Characters of an id that its place in the index depends on: an id is a digest, and these are chance enough. */
const HASHED_CHARACTERS = 8;
const NOWHERE = -1;
/** The id that is looked for at the moment. */
const wanted = new Uint8Array(ID_CHARACTERS_MAX);

export interface RingEntry {
  readonly id: string;
  readonly digest: string;
  readonly atMs: number;
}

export class RequestRing {
  readonly #slotsMax: number;
  #slots = 0;
  #bytes: Uint8Array = new Uint8Array(0);
  #view: DataView = new DataView(this.#bytes.buffer);
  /** Slots by the hashes of their ids, counted from 1; 0 where there is none. At least half of it is empty. */
  #index = new Int32Array(1);
  #first = 0;
  /** Slots in use, those that were taken out between others included. */
  #used = 0;

  constructor(slotsMax: number) {
    this.#slotsMax = slotsMax;
  }

  /** What makes way when the next one comes; null while there is room. */
  get nextToGo(): string | null {
    return this.#used < this.#slotsMax ? null : this.#idAt(this.#first);
  }

  /** When the last one came; 0 when there is none. */
  get newestMs(): number {
    return this.#used === 0 ? 0 : this.#timeOf(this.#slotOf(this.#used - 1));
  }

  /** As the newest, also when it is there already. @throws RangeError when it fits no slot. */
  add({ id, digest, atMs }: RingEntry): void {
    if (id === '' || id.length > ID_CHARACTERS_MAX || digest.length > DIGEST_CHARACTERS_MAX)
      throw new RangeError(`no digests: ${id}, ${digest}`);
    const known = this.#find(id);
    if (known !== NOWHERE) this.#takeOut(known);
    if (this.#used === this.#slotsMax) this.#forgetOldest();
    if (this.#used === this.#slots) this.#grow();
    this.#put(this.#slotOf(this.#used), { id, digest, atMs });
    this.#used += 1;
  }

  find(id: string): RingEntry | null {
    const slot = id.length > ID_CHARACTERS_MAX ? NOWHERE : this.#find(id);
    return slot === NOWHERE ? null : this.#entryAt(slot);
  }

  /** Oldest first. */
  all(): RingEntry[] {
    const entries: RingEntry[] = [];
    for (let at = 0; at < this.#used; at += 1) {
      const slot = this.#slotOf(at);
      if (this.#isIn(slot)) entries.push(this.#entryAt(slot));
    }
    return entries;
  }

  /** The slots of all that came since then, oldest first, and of what came in between. */
  stored(sinceMs: number): Uint8Array {
    let at = 0;
    while (at < this.#used && this.#timeOf(this.#slotOf(at)) < sinceMs) at += 1;
    if (at === this.#used) return new Uint8Array(0);
    const [from, to] = [this.#slotOf(at), this.#slotOf(this.#used - 1) + 1];
    return concat(from < to ? [this.#slice(from, to)] : [this.#slice(from, this.#slots), this.#slice(0, to)]);
  }

  /** What another had stored, instead of all that is here. */
  restore(stored: Uint8Array): void {
    const last = stored.subarray(-this.#slotsMax * SLOT_BYTES);
    this.#bytes = last;
    this.#view = new DataView(last.buffer, last.byteOffset, last.byteLength);
    this.#used = this.#slots = last.length / SLOT_BYTES;
    this.#first = 0;
    this.#grow(); // which reads them, and writes them into memory and an index of its own
  }

  #slice(from: number, to: number): Uint8Array {
    return this.#bytes.slice(from * SLOT_BYTES, to * SLOT_BYTES);
  }

  #timeOf(slot: number): number {
    return this.#view.getFloat64(slot * SLOT_BYTES + TIME_AT);
  }

  #slotOf(at: number): number {
    return (this.#first + at) % this.#slots;
  }

  #isIn(slot: number): boolean {
    return this.#bytes[slot * SLOT_BYTES]! > 0;
  }

  #entryAt(slot: number): RingEntry {
    return { id: this.#idAt(slot), digest: this.#text(slot, DIGEST_AT, 1), atMs: this.#timeOf(slot) };
  }

  #idAt(slot: number): string {
    return this.#text(slot, ID_AT, 0);
  }

  #text(slot: number, from: number, lengthAt: number): string {
    const start = slot * SLOT_BYTES;
    return asciiText(this.#bytes.subarray(start + from, start + from + this.#bytes[start + lengthAt]!))!;
  }

  #put(slot: number, { id, digest, atMs }: RingEntry): void {
    const start = slot * SLOT_BYTES;
    this.#bytes[start] = id.length;
    this.#bytes[start + 1] = digest.length;
    putAscii(this.#bytes, id, start + ID_AT);
    putAscii(this.#bytes, digest, start + DIGEST_AT);
    this.#view.setFloat64(start + TIME_AT, atMs);
    let place = this.#homeOf(slot);
    while (this.#index[place] !== 0) place = this.#after(place);
    this.#index[place] = slot + 1;
  }

  #find(id: string): number {
    const { length } = id;
    putAscii(wanted, id, 0);
    for (let place = this.#place(wanted, 0, length); this.#index[place] !== 0; place = this.#after(place)) {
      const slot = this.#index[place]! - 1;
      if (this.#isCalled(slot, length)) return slot;
    }
    return NOWHERE;
  }

  /** Whether its id is the one that is looked for. */
  #isCalled(slot: number, length: number): boolean {
    const start = slot * SLOT_BYTES;
    if (this.#bytes[start] !== length) return false;
    for (let at = 0; at < length; at += 1) if (this.#bytes[start + ID_AT + at] !== wanted[at]) return false;
    return true;
  }

  #forgetOldest(): void {
    if (this.#isIn(this.#first)) this.#takeOut(this.#first);
    this.#first = this.#slotOf(1);
    this.#used -= 1;
  }

  /** Whoever stands behind it in the index only because it was there moves up. */
  #takeOut(slot: number): void {
    let gap = this.#homeOf(slot);
    while (this.#index[gap] !== slot + 1) gap = this.#after(gap);
    for (let place = this.#after(gap); this.#index[place] !== 0; place = this.#after(place)) {
      const home = this.#homeOf(this.#index[place]! - 1);
      if (this.#distance(home, place) < this.#distance(gap, place)) continue;
      this.#index[gap] = this.#index[place]!;
      gap = place;
    }
    this.#index[gap] = 0;
    this.#bytes[slot * SLOT_BYTES] = 0;
  }

  #homeOf(slot: number): number {
    const start = slot * SLOT_BYTES;
    return this.#place(this.#bytes, start + ID_AT, this.#bytes[start]!);
  }

  #place(bytes: Uint8Array, from: number, length: number): number {
    let sum = 0;
    for (let at = 0; at < length && at < HASHED_CHARACTERS; at += 1) sum = Math.imul(sum, 31) + bytes[from + at]!;
    return (sum ^ (sum >>> 15)) & (this.#index.length - 1);
  }

  #after(place: number): number {
    return (place + 1) & (this.#index.length - 1);
  }

  #distance(from: number, to: number): number {
    return (to - from) & (this.#index.length - 1);
  }

  #grow(): void {
    const entries = this.all();
    this.#slots = Math.min(this.#slotsMax, Math.max(SLOTS_MIN, 2 * this.#slots));
    this.#bytes = new Uint8Array(this.#slots * SLOT_BYTES);
    this.#view = new DataView(this.#bytes.buffer);
    this.#index = new Int32Array(2 ** Math.ceil(Math.log2(2 * this.#slots)));
    this.#first = 0;
    this.#used = entries.length;
    for (const [slot, entry] of entries.entries()) this.#put(slot, entry);
  }
}
