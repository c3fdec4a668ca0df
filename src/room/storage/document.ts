/**
 * The documents that REST answers (contract, "Storage document"; supplement 1.4): plain LSON, which keeps the kinds of nodes, and simple JSON, which does
 * not.
 *
 * They are written right from the nodes, because objects in between cost twice as much as the text; and a part at a time for whoever wants to, because one
 * of a hundred thousand nodes takes as long as a thousand changes.
 */
import type { PieceWriter } from '../../base/piece-writer.ts';
import { CRDT } from '../../protocol/storage-ops.ts';
import { itemsOf, type StorageNode } from './nodes.ts';
import { isWithoutValues, plainEntries } from './plain-values.ts';
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
  /** How many of them were written. */
  written: number;
  /** Whether nothing stands before the next one. */
  isFirst: boolean;
  readonly end: string;
}

const KIND_NAMES = {
  [CRDT.OBJECT]: 'LiveObject',
  [CRDT.LIST]: 'LiveList',
  [CRDT.MAP]: 'LiveMap',
  [CRDT.TEXT]: 'LiveText',
  [CRDT.FILE]: 'LiveFile',
} as const;

/** Writes one document. Between two parts the Storage must not change. */
export class DocumentWriter {
  readonly #out: PieceWriter;
  /** What a node begins with to show its kind, and ends with. */
  readonly #heads: Readonly<Record<keyof typeof KIND_NAMES, string>>;
  readonly #tail: string;
  /** Innermost last: no recursion, so that it can pause anywhere. */
  readonly #open: Open[] = [];

  constructor({ root }: Storage, { format, typeKey }: DocumentForm, out: PieceWriter) {
    const headOf = (kind: string): string => (format === 'json' ? '' : `{${JSON.stringify(typeKey)}:"${kind}","data":`);
    this.#heads = {
      [CRDT.OBJECT]: headOf(KIND_NAMES[CRDT.OBJECT]),
      [CRDT.LIST]: headOf(KIND_NAMES[CRDT.LIST]),
      [CRDT.MAP]: headOf(KIND_NAMES[CRDT.MAP]),
      [CRDT.TEXT]: headOf(KIND_NAMES[CRDT.TEXT]),
      [CRDT.FILE]: headOf(KIND_NAMES[CRDT.FILE]),
    };
    this.#tail = format === 'json' ? '' : '}';
    this.#out = out;
    this.#begin(root);
  }

  /** Writes up to so many nodes more. Returns whether all is written. */
  write(nodesMax: number): boolean {
    const out = this.#out;
    let left = nodesMax;
    for (let open = this.#open.at(-1); open !== undefined; open = this.#open.at(-1)) {
      const child = open.children[open.written];
      if (child === undefined) {
        out.raw(open.end);
        this.#open.pop();
        continue;
      }
      if (left === 0) return false;
      left -= 1;
      out.member(child.id);
      if (!open.isFirst) out.raw(',');
      if (open.keys !== null) out.name(open.keys[open.written]!);
      open.isFirst = false;
      open.written += 1;
      this.#begin(child);
    }
    return true;
  }

  /** Writes a node that has no children whole, of another what stands before them. */
  #begin(node: StorageNode): void {
    if (node.type === CRDT.REGISTER) {
      this.#out.value(node.data);
      return;
    }
    this.#out.raw(this.#heads[node.type]);
    switch (node.type) {
      case CRDT.OBJECT:
        this.#out.raw('{');
        this.#out.members(plainEntries(node.data));
        this.#beginChildren([...node.children.keys()], [...node.children.values()], {
          isFirst: isWithoutValues(node.data),
          end: `}${this.#tail}`,
        });
        break;
      case CRDT.MAP:
        this.#out.raw('{');
        this.#beginChildren([...node.children.keys()], [...node.children.values()], { isFirst: true, end: `}${this.#tail}` });
        break;
      case CRDT.LIST:
        this.#out.raw('[');
        this.#beginChildren(null, itemsOf(node), { isFirst: true, end: `]${this.#tail}` });
        break;
      case CRDT.TEXT:
      case CRDT.FILE:
        this.#out.raw(JSON.stringify(node.data));
        this.#out.raw(this.#tail);
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
    if (children.length === 0) this.#out.raw(end);
    else this.#open.push({ keys, children, written: 0, isFirst, end });
  }
}
