/** Random edits of one Storage tree, as an application makes them with the SDK's data structures, and as a back end makes them by JSON Patch. */
import { LiveFile, LiveList, LiveMap, LiveObject, LiveText } from '@liveblocks/client';
import type { Dice } from './dice.ts';

/** The one file that each room has. */
export const FILE = { id: `fl_${'a'.repeat(21)}`, name: 'a', size: 1, mimeType: 'text/plain' };

type Structure = LiveObject<any> | LiveMap<string, any> | LiveList<any> | LiveText;

/** A live structure and where it is, as a JSON pointer. */
export interface Place {
  readonly pointer: string;
  readonly node: Structure;
}

export interface EditRules {
  /** Whether list items may be replaced; see protocol 6.5 for what clients make of that when they reconnect. */
  readonly listSet: boolean;
  /** Whether a key of an object may hold a plain value now and a live structure later; a client that does so within one round trip breaks. */
  readonly retype: boolean;
}

/** What every room starts with, so that there is something of each kind to meet at. */
export function initialStorage(): Record<string, any> {
  return {
    list: new LiveList<any>(['first', 'second', 'third']),
    map: new LiveMap<string, any>([['a', 1]]),
    object: new LiveObject<any>({ a: 1, c: new LiveList<any>([1]) }),
    text: new LiveText('The quick brown fox'),
  };
}

const PLAIN_KEYS = ['a', 'b'] as const;
const LIVE_KEYS = ['c', 'd'] as const;
const KEYS = [...PLAIN_KEYS, ...LIVE_KEYS] as const;
/** Beyond this a list is rather made shorter, so that edits keep meeting each other. */
const LIST_LENGTH_SOFT_MAX = 10;
const TEXT_LENGTH_SOFT_MAX = 60;

export class Editor {
  readonly #dice: Dice;
  readonly #name: string;
  readonly #rules: EditRules;
  #made = 0;

  /** `name` begins every value it makes, so that a divergence shows who made what. */
  constructor(dice: Dice, name: string, rules: EditRules) {
    this.#dice = dice;
    this.#name = name;
    this.#rules = rules;
  }

  /** Makes one edit somewhere in the tree. */
  edit(root: LiveObject<any>): void {
    const { node, pointer } = this.#pickPlace(root);
    if (node instanceof LiveList) this.#editList(node);
    else if (node instanceof LiveMap) this.#editMap(node);
    else if (node instanceof LiveText) this.#editText(node);
    else this.#editObject(node, pointer === '');
  }

  /** One JSON Patch for a tree that looks like this one; by the time it arrives it may not fit any more. */
  patch(root: LiveObject<any>): object[] {
    return Array.from({ length: 1 + this.#dice.below(3) }, () => this.#patchOperation(this.#pickPlace(root)));
  }

  /** The four top-level structures are met as often as all that is nested in them. */
  #pickPlace(root: LiveObject<any>): Place {
    const places = placesIn(root);
    const top = places.filter(({ pointer }) => pointer.split('/').length <= 2);
    return this.#dice.pick(this.#dice.chance(0.5) ? top : places);
  }

  #editList(list: LiveList<any>): void {
    const { length } = list;
    const index = this.#dice.below(length);
    const act = this.#dice.weighted({
      push: length > LIST_LENGTH_SOFT_MAX ? 1 : 4,
      insert: length > LIST_LENGTH_SOFT_MAX ? 1 : 3,
      move: length > 1 ? 4 : 0,
      delete: length > 0 ? (length > LIST_LENGTH_SOFT_MAX ? 6 : 2) : 0,
      set: length > 0 && this.#rules.listSet ? 3 : 0,
      clear: length > 0 ? 0.1 : 0,
    });
    if (act === 'push') list.push(this.#value());
    else if (act === 'insert') list.insert(this.#value(), this.#dice.below(length + 1));
    else if (act === 'move') list.move(index, this.#dice.below(length));
    else if (act === 'delete') list.delete(index);
    else if (act === 'set') list.set(index, this.#value());
    else list.clear();
  }

  #editMap(map: LiveMap<string, any>): void {
    const key = this.#dice.pick(KEYS);
    if (this.#dice.chance(0.3)) map.delete(key);
    else map.set(key, this.#value());
  }

  #editObject(object: LiveObject<any>, isRoot: boolean): void {
    const act = this.#dice.weighted({ set: 5, update: 2, delete: 2, replaceTop: isRoot ? 0.2 : 0 });
    if (act === 'set') object.set(...this.#member());
    else if (act === 'update') object.update(Object.fromEntries([this.#member(), this.#member()]));
    else if (act === 'delete') object.delete(this.#dice.pick(KEYS));
    else object.update(initialStorage()); // as two clients do that enter a new room at once
  }

  #editText(text: LiveText): void {
    const index = this.#dice.below(text.length + 1);
    const length = 1 + this.#dice.below(6);
    const act = this.#dice.weighted({ insert: text.length > TEXT_LENGTH_SOFT_MAX ? 1 : 4, delete: 3, replace: 1, format: 2 });
    if (act === 'insert') text.insert(index, this.#dice.pick(['x', 'hello ', '😀', 'é—', this.#token()]), ...this.#attributes());
    else if (act === 'delete') text.delete(index, length);
    else if (act === 'replace') text.replace(index, length, this.#token());
    else text.format(index, length, { [this.#dice.pick(['bold', 'italic'])]: this.#dice.pick([true, null]) });
  }

  #attributes(): [Record<string, true>?] {
    return this.#dice.chance(0.3) ? [{ bold: true }] : [];
  }

  #patchOperation({ pointer, node }: Place): object {
    if (node instanceof LiveText)
      return { op: 'replace', path: pointer, value: [[this.#token(), { bold: true }], [' rewritten']] };
    if (node instanceof LiveList) return this.#patchList(pointer, node.length);
    const isLive = this.#dice.chance(0.5);
    const keys = isLive ? LIVE_KEYS : PLAIN_KEYS;
    const path = `${pointer}/${this.#dice.pick(keys)}`;
    const act = this.#dice.weighted({ add: 4, replace: 2, remove: 1, copy: 1 });
    if (act === 'copy') return { op: act, path, from: `${pointer}/${this.#dice.pick(keys)}` };
    return act === 'remove' ? { op: act, path } : { op: act, path, value: isLive ? this.#tree() : this.#token() };
  }

  #patchList(pointer: string, length: number): object {
    const index = this.#dice.below(length);
    const act = this.#dice.weighted({ add: 4, append: 2, remove: 2, move: 2, replace: this.#rules.listSet ? 2 : 0 });
    if (act === 'add') return { op: act, path: `${pointer}/${this.#dice.below(length + 1)}`, value: this.#json() };
    if (act === 'append') return { op: 'add', path: `${pointer}/-`, value: this.#json() };
    if (act === 'move') return { op: act, path: `${pointer}/${this.#dice.below(length)}`, from: `${pointer}/${index}` };
    return act === 'remove'
      ? { op: act, path: `${pointer}/${index}` }
      : { op: act, path: `${pointer}/${index}`, value: this.#json() };
  }

  #token(): string {
    this.#made += 1;
    return `${this.#name}${this.#made}`;
  }

  #json(): unknown {
    return this.#dice.chance(0.7) ? this.#token() : this.#tree();
  }

  /** JSON of which a patch makes live structures. */
  #tree(): unknown {
    return this.#dice.chance(0.5) ? { a: this.#token(), c: { b: 1 } } : [this.#token(), [this.#token()]];
  }

  /** A key of an object and a value for it. */
  #member(depth = 0): [string, any] {
    if (this.#rules.retype) return [this.#dice.pick(KEYS), this.#value(depth)];
    return this.#dice.chance(0.5) || depth > 2
      ? [this.#dice.pick(PLAIN_KEYS), this.#plain()]
      : [this.#dice.pick(LIVE_KEYS), this.#live(depth)];
  }

  #value(depth = 0): any {
    return depth > 2 || this.#dice.chance(0.7) ? this.#plain() : this.#live(depth);
  }

  #plain(): unknown {
    return this.#dice.chance(0.8) ? this.#token() : this.#dice.pick([null, 0, true, '', { t: [this.#token(), { u: null }] }]);
  }

  /** A live structure; it holds others, three levels deep at most. */
  #live(depth: number): Structure | LiveFile {
    const many = <Item>(make: () => Item): Item[] => Array.from({ length: this.#dice.below(3) }, make);
    const kind = this.#dice.weighted({ object: 3, list: 3, map: 3, text: 3, file: 1 });
    switch (kind) {
      case 'object':
        return new LiveObject(Object.fromEntries(many(() => this.#member(depth + 1))));
      case 'list':
        return new LiveList(many(() => this.#value(depth + 1)));
      case 'map':
        return new LiveMap(many(() => [this.#dice.pick(KEYS), this.#value(depth + 1)]));
      case 'text':
        return new LiveText(this.#token());
      case 'file':
        return new LiveFile({ ...FILE, name: this.#token() });
      default:
        return kind satisfies never;
    }
  }
}

/** All live structures of a tree that hold something, parents first. */
export function placesIn(node: unknown, pointer = ''): Place[] {
  if (node instanceof LiveText) return [{ pointer, node }];
  if (node instanceof LiveList) {
    return [{ pointer, node }, ...[...node].flatMap((item, index) => placesIn(item, `${pointer}/${index}`))];
  }
  if (node instanceof LiveMap)
    return [{ pointer, node }, ...[...node].flatMap(([key, value]) => placesIn(value, `${pointer}/${key}`))];
  if (!(node instanceof LiveObject)) return [];
  return [{ pointer, node }, ...[...node.keys()].flatMap((key) => placesIn(node.get(key), `${pointer}/${key}`))];
}
