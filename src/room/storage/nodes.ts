/**
 * What a node of Storage is, one kind each, and the order of a list's items (protocol §5.1).
 *
 * Nodes are linked both ways; `tree.ts` is the only place that changes them.
 */
import type { Json, JsonObject } from '../../base/json.ts';
import { SmallMap } from '../../base/small.ts';
import { CRDT, type FileData, type LiveTextData } from '../../protocol/storage-ops.ts';
import type { MembersSize } from '../../protocol/storage-values.ts';
import { type PlainValues, plainValuesOf } from './plain-values.ts';
import { SortedKeys } from './sorted-keys.ts';
import { normalText } from './text.ts';
import { emptyHistory, type TextHistory } from './text-history.ts';

/**
 * Deepest nesting of nodes. No op ever gives a node another parent, so checking at creation keeps it, and whoever reads Storage
 * (also a client, and JSON.stringify) may recurse.
 */
export const NODE_DEPTH_MAX = 1_000;

/** By key or position. Only `attach` and `detach` change them; nodes that have none share one. */
export type Children = ReadonlyMap<string, StorageNode>;

const NO_CHILDREN: Children = new Map();

interface Common {
  readonly id: string;
  /** Null for the root alone. */
  readonly parent: ParentNode | null;
  /** The key or position under the parent; '' for the root. Only list items ever change theirs. */
  key: string;
  /** 0 for the root. */
  readonly depth: number;
}

export interface ObjectNode extends Common {
  readonly type: typeof CRDT.OBJECT;
  /** The plain values. A key is here or in `children`, never in both. */
  data: PlainValues;
  children: Children;
  /** Of all plain values together; null until somebody asks, so that loading counts nothing. */
  size: MembersSize | null;
}

export interface ListNode extends Common {
  readonly type: typeof CRDT.LIST;
  children: Children;
  /** The positions in order; null until somebody asks, so that loading a long list costs one sort. */
  order: SortedKeys | null;
}

export interface MapNode extends Common {
  readonly type: typeof CRDT.MAP;
  children: Children;
}

export interface RegisterNode extends Common {
  readonly type: typeof CRDT.REGISTER;
  readonly data: Json;
}

export interface TextNode extends Common {
  readonly type: typeof CRDT.TEXT;
  data: LiveTextData;
  version: number;
  history: TextHistory;
}

export interface FileNode extends Common {
  readonly type: typeof CRDT.FILE;
  readonly data: FileData;
}

export type ParentNode = ObjectNode | ListNode | MapNode;
export type StorageNode = ParentNode | RegisterNode | TextNode | FileNode;

/** What a node holds, apart from its place. */
export type Content =
  | { readonly type: typeof CRDT.OBJECT; readonly data: JsonObject }
  | { readonly type: typeof CRDT.LIST | typeof CRDT.MAP }
  | { readonly type: typeof CRDT.REGISTER; readonly data: Json }
  | { readonly type: typeof CRDT.TEXT; readonly data: LiveTextData; readonly version: number }
  | { readonly type: typeof CRDT.FILE; readonly data: FileData };

export interface Place {
  readonly id: string;
  readonly parent: ParentNode | null;
  readonly key: string;
}

export function newNode({ id, parent, key }: Place, content: Content): StorageNode {
  const depth = parent === null ? 0 : parent.depth + 1;
  // Written out: V8 gives each copy by spread a hidden class of its own, larger than a small node.
  switch (content.type) {
    case CRDT.OBJECT: {
      const data = plainValuesOf(content.data);
      return { id, parent, key, depth, type: content.type, data, children: NO_CHILDREN, size: null };
    }
    case CRDT.LIST:
      return { id, parent, key, depth, type: content.type, children: NO_CHILDREN, order: null };
    case CRDT.MAP:
      return { id, parent, key, depth, type: content.type, children: NO_CHILDREN };
    case CRDT.REGISTER:
      return { id, parent, key, depth, type: content.type, data: content.data };
    case CRDT.TEXT: {
      const { type, data, version } = content;
      return { id, parent, key, depth, type, data: normalText(data), version, history: emptyHistory() };
    }
    case CRDT.FILE:
      return { id, parent, key, depth, type: content.type, data: content.data };
    default:
      return content satisfies never;
  }
}

export function isParent(node: StorageNode): node is ParentNode {
  return node.type === CRDT.OBJECT || node.type === CRDT.LIST || node.type === CRDT.MAP;
}

/** The positions of a list, in order. For reading only. */
export function positionsOf(list: ListNode): SortedKeys {
  list.order ??= new SortedKeys(list.children.keys());
  return list.order;
}

export function itemsOf(list: ListNode): StorageNode[] {
  const { children } = list;
  return positionsOf(list)
    .toArray()
    .map((position) => children.get(position)!);
}

/** Enters a node under its parent. */
export function attach(node: StorageNode): void {
  const { parent, key } = node;
  if (parent === null) return;
  if (parent.children === NO_CHILDREN) parent.children = new SmallMap();
  (parent.children as SmallMap<string, StorageNode>).set(key, node);
  if (parent.type === CRDT.LIST) parent.order?.add(key);
}

/** Takes a node from its parent. */
export function detach({ parent, key }: StorageNode): void {
  if (parent === null) return;
  (parent.children as SmallMap<string, StorageNode>).delete(key);
  if (parent.children.size === 0) parent.children = NO_CHILDREN;
  if (parent.type === CRDT.LIST) parent.order?.delete(key);
}
