/**
 * The documents that REST answers (contract, "Storage document"; supplement 1.4): plain LSON, which keeps the kinds of nodes, and simple JSON, which does
 * not.
 *
 * They are written as text right from the nodes, because objects in between cost twice as much as the text; and a part at a time for whoever wants to,
 * because one of a hundred thousand nodes takes as long as a thousand changes.
 */
import type { Json } from '../../base/json.ts';
import { CRDT } from '../../protocol/storage-ops.ts';
import { itemsOf, type StorageNode } from './nodes.ts';
import type { Storage } from './tree.ts';

export interface DocumentForm {
  readonly format: 'plain-lson' | 'json';
  /** Of plain LSON: name of the member that tells a node's kind, serviceType or liveblocksType. */
  readonly typeKey: string;
}

/** A node that has begun and not ended: its children, by their keys where they have some. */
interface Open {
  readonly keys: readonly string[] | null;
  readonly children: readonly StorageNode[];
  /** How many were written. */
  written: number;
  /** Whether something stands before the next child. */
  isFirst: boolean;
  readonly end: string;
}

/** Two ends of what a node is wrapped in, to show its kind. */
interface Wrap {
  readonly begin: string;
  readonly end: string;
}

const KIND_NAMES = {
  [CRDT.OBJECT]: 'LiveObject',
  [CRDT.LIST]: 'LiveList',
  [CRDT.MAP]: 'LiveMap',
  [CRDT.TEXT]: 'LiveText',
  [CRDT.FILE]: 'LiveFile',
} as const;

/** All of it at once. */
export function documentText(storage: Storage, form: DocumentForm): string {
  const writer = new DocumentWriter(storage, form);
  writer.write(Number.POSITIVE_INFINITY);
  return writer.take();
}

/** Writes one document. Between two parts the Storage must not change for good. */
export class DocumentWriter {
  readonly #wraps: Readonly<Record<keyof typeof KIND_NAMES, Wrap>>;
  /** Innermost last: no recursion, so that it can pause anywhere. */
  readonly #open: Open[] = [];
  /** Names of members repeat in objects of one shape. */
  readonly #names = new Map<string, string>();
  #text = '';

  constructor({ root }: Storage, { format, typeKey }: DocumentForm) {
    const wrapOf = (kind: string): Wrap =>
      format === 'json' ? { begin: '', end: '' } : { begin: `{${JSON.stringify(typeKey)}:"${kind}","data":`, end: '}' };
    this.#wraps = {
      [CRDT.OBJECT]: wrapOf(KIND_NAMES[CRDT.OBJECT]),
      [CRDT.LIST]: wrapOf(KIND_NAMES[CRDT.LIST]),
      [CRDT.MAP]: wrapOf(KIND_NAMES[CRDT.MAP]),
      [CRDT.TEXT]: wrapOf(KIND_NAMES[CRDT.TEXT]),
      [CRDT.FILE]: wrapOf(KIND_NAMES[CRDT.FILE]),
    };
    this.#begin(root);
  }

  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean {
    let left = nodesMax;
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      const child = open.children[open.written];
      if (child === undefined) {
        this.#text += open.end;
        this.#open.pop();
        continue;
      }
      if (left === 0) return false;
      left -= 1;
      if (!open.isFirst) this.#text += ',';
      if (open.keys !== null) this.#text += `${JSON.stringify(open.keys[open.written])}:`;
      open.isFirst = false;
      open.written += 1;
      this.#begin(child);
    }
    return true;
  }

  /** What was written since this was asked before. */
  take(): string {
    const text = this.#text;
    this.#text = '';
    return text;
  }

  /** Writes a node that has no children whole, of another what stands before them. */
  #begin(node: StorageNode): void {
    if (node.type === CRDT.REGISTER) {
      this.#text += valueText(node.data);
      return;
    }
    const { begin, end } = this.#wraps[node.type];
    switch (node.type) {
      case CRDT.OBJECT:
        this.#text += `${begin}{${this.#membersText(node.data)}`;
        this.#beginChildren([...node.children.keys()], [...node.children.values()], {
          isFirst: node.data.size === 0,
          end: `}${end}`,
        });
        break;
      case CRDT.MAP:
        this.#text += `${begin}{`;
        this.#beginChildren([...node.children.keys()], [...node.children.values()], { isFirst: true, end: `}${end}` });
        break;
      case CRDT.LIST:
        this.#text += `${begin}[`;
        this.#beginChildren(null, itemsOf(node), { isFirst: true, end: `]${end}` });
        break;
      case CRDT.TEXT:
      case CRDT.FILE:
        this.#text += begin + JSON.stringify(node.data) + end;
        break;
      default:
        node satisfies never;
    }
  }

  #beginChildren(
    keys: readonly string[] | null,
    children: readonly StorageNode[],
    { isFirst, end }: { readonly isFirst: boolean; readonly end: string },
  ): void {
    if (children.length === 0) this.#text += end;
    else this.#open.push({ keys, children, written: 0, isFirst, end });
  }

  #membersText(data: ReadonlyMap<string, Json>): string {
    let text = '';
    for (const [name, value] of data) text += (text === '' ? '' : ',') + this.#nameText(name) + valueText(value);
    return text;
  }

  #nameText(name: string): string {
    let text = this.#names.get(name);
    if (text === undefined) {
      text = `${JSON.stringify(name)}:`;
      this.#names.set(name, text);
    }
    return text;
  }
}

/** JSON has no other numbers than those that `String` writes. */
function valueText(value: Json): string {
  return typeof value === 'number' ? String(value) : JSON.stringify(value);
}
