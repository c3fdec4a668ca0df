/**
 * A map and a set for what a worker has a hundred thousand of and that mostly hold nothing, or one thing: until there is a second, they are
 * a few fields. An empty `Map` of V8 takes some 180 bytes.
 *
 * They are used as `Map` and `Set` are, but: keys are compared by `===`, and what is added during an iteration may not be visited by it. Neither
 * has a private method, for which V8 would mark each object with one field more.
 */

const NOTHING = Symbol('nothing');

/** For a list that mostly gets one item, and is null before: V8 gives one that begins empty room for seventeen. */
export function withOneMore<Item>(list: Item[] | null, item: Item): Item[] {
  if (list === null) return [item];
  list.push(item);
  return list;
}

export class SmallMap<Key, Value> implements Map<Key, Value> {
  #key: Key | typeof NOTHING = NOTHING;
  /** Of that key. */
  #value: Value | undefined = undefined;
  /** All entries, from the second one until there is none; those above are then not looked at. */
  #many: Map<Key, Value> | null = null;

  constructor(entries: Iterable<readonly [Key, Value]> = []) {
    for (const [key, value] of entries) this.set(key, value);
  }

  get size(): number {
    if (this.#many !== null) return this.#many.size;
    return this.#key === NOTHING ? 0 : 1;
  }

  has(key: Key): boolean {
    return this.#many === null ? this.#key === key : this.#many.has(key);
  }

  get(key: Key): Value | undefined {
    if (this.#many !== null) return this.#many.get(key);
    return this.#key === key ? this.#value : undefined;
  }

  set(key: Key, value: Value): this {
    if (this.#many !== null) this.#many.set(key, value);
    else if (this.#key === NOTHING || this.#key === key) [this.#key, this.#value] = [key, value];
    else this.#many = new Map([[this.#key, this.#value as Value]]).set(key, value);
    return this;
  }

  delete(key: Key): boolean {
    const isThere = this.has(key);
    if (isThere && this.size === 1) this.clear();
    else if (isThere) this.#many!.delete(key);
    return isThere;
  }

  clear(): void {
    this.#many = null;
    this.#key = NOTHING;
    this.#value = undefined;
  }

  forEach(visit: (value: Value, key: Key, map: Map<Key, Value>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  entries(): MapIterator<[Key, Value]> {
    if (this.#many !== null) return this.#many.entries();
    const all: [Key, Value][] = this.#key === NOTHING ? [] : [[this.#key, this.#value as Value]];
    return all.values();
  }

  keys(): MapIterator<Key> {
    return this.#many?.keys() ?? (this.#key === NOTHING ? [] : [this.#key]).values();
  }

  values(): MapIterator<Value> {
    return this.#many?.values() ?? (this.#key === NOTHING ? [] : [this.#value as Value]).values();
  }

  [Symbol.iterator](): MapIterator<[Key, Value]> {
    return this.entries();
  }

  get [Symbol.toStringTag](): string {
    return 'SmallMap';
  }
}

export class SmallSet<Item> implements Set<Item> {
  #item: Item | typeof NOTHING = NOTHING;
  /** All items, from the second one until there is none; the one above is then not looked at. */
  #many: Set<Item> | null = null;

  constructor(items: Iterable<Item> = []) {
    for (const item of items) this.add(item);
  }

  get size(): number {
    if (this.#many !== null) return this.#many.size;
    return this.#item === NOTHING ? 0 : 1;
  }

  has(item: Item): boolean {
    return this.#many === null ? this.#item === item : this.#many.has(item);
  }

  add(item: Item): this {
    if (this.#many !== null) this.#many.add(item);
    else if (this.#item === NOTHING || this.#item === item) this.#item = item;
    else this.#many = new Set([this.#item, item]);
    return this;
  }

  delete(item: Item): boolean {
    const isThere = this.has(item);
    if (isThere && this.size === 1) this.clear();
    else if (isThere) this.#many!.delete(item);
    return isThere;
  }

  clear(): void {
    this.#many = null;
    this.#item = NOTHING;
  }

  forEach(visit: (item: Item, same: Item, set: Set<Item>) => void): void {
    for (const item of this) visit(item, item, this);
  }

  entries(): SetIterator<[Item, Item]> {
    return this.#many?.entries() ?? [...this.values()].map((item): [Item, Item] => [item, item]).values();
  }

  keys(): SetIterator<Item> {
    return this.values();
  }

  values(): SetIterator<Item> {
    return this.#many?.values() ?? (this.#item === NOTHING ? [] : [this.#item]).values();
  }

  [Symbol.iterator](): SetIterator<Item> {
    return this.values();
  }

  get [Symbol.toStringTag](): string {
    return 'SmallSet';
  }
}
