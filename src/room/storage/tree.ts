/**
 * The Storage of one room: a flat table of nodes that form one tree, and the few functions that change it.
 *
 * Every change goes through here, so that a group of them can be undone. Which changes are right, `apply.ts` knows.
 */
import { AppError } from '../../base/errors.ts';
import type { Json, JsonObject } from '../../base/json.ts';
import {
  type CompactNode,
  CRDT,
  type LiveTextData,
  ROOT_ID,
  type SerializedCrdt,
  type TextOperation,
} from '../../protocol/storage-ops.ts';
import {
  attach,
  type Content,
  compactNode,
  detach,
  isParent,
  newNode,
  type ObjectNode,
  type ParentNode,
  type Place,
  type StorageNode,
  serializedNode,
  type TextNode,
} from './nodes.ts';
import { RecentIds } from './recent-ids.ts';
import { copyOfHistory, loadHistory, remember, type StoredHistory, storedHistory } from './text-history.ts';

/** Deleted ids that are remembered, to notice when one comes back (protocol 6.4). A forgotten one costs a client that repair, nothing else. */
const DELETED_IDS_MAX = 10_000;

export interface Storage {
  readonly root: ObjectNode;
  /** By id; a parent always comes before its children. */
  readonly nodes: Map<string, StorageNode>;
  readonly deletedIds: RecentIds;
  /** What takes back the changes made so far, the last one first; null when nobody will ask. */
  undo: (() => void)[] | null;
}

export function emptyStorage(): Storage {
  const root = newNode({ id: ROOT_ID, parent: null, key: '' }, { type: CRDT.OBJECT, data: {} }) as ObjectNode;
  return { root, nodes: new Map([[ROOT_ID, root]]), deletedIds: new RecentIds(DELETED_IDS_MAX), undo: null };
}

/** A root without keys counts as no Storage (supplement 1.4). */
export function isEmptyStorage({ root }: Storage): boolean {
  return root.data.size === 0 && root.children.size === 0;
}

/** Runs `work`, and takes back every change it made when it throws. */
export function atomically(storage: Storage, work: () => void): void {
  const undo: (() => void)[] = [];
  storage.undo = undo;
  try {
    work();
  } catch (error) {
    for (const takeBack of undo.reverse()) takeBack();
    throw error;
  } finally {
    storage.undo = null;
  }
}

/** Adds a node at a place that is free. */
export function insertNode(storage: Storage, place: Place, content: Content): void {
  const node = newNode(place, content);
  storage.nodes.set(node.id, node);
  attach(node);
  storage.undo?.push(() => {
    storage.nodes.delete(node.id);
    detach(node);
  });
}

/** Removes a node and all below it. A loop, so the depth of the tree does not matter. */
export function removeSubtree(storage: Storage, top: StorageNode): void {
  detach(top);
  const gone = [top];
  for (let at = 0; at < gone.length; at += 1) {
    const node = gone[at]!;
    storage.nodes.delete(node.id);
    storage.deletedIds.add(node.id);
    if (isParent(node)) for (const child of node.children.values()) gone.push(child);
  }
  storage.undo?.push(() => {
    for (const node of gone) storage.nodes.set(node.id, node);
    attach(top);
  });
}

/** Removes the child at a key or position, if there is one. */
export function removeChildAt(storage: Storage, parent: ParentNode, key: string): void {
  const child = parent.children.get(key);
  if (child !== undefined) removeSubtree(storage, child);
}

/** Gives a node another key under the same parent; the key must be free. */
export function moveNode(storage: Storage, node: StorageNode, key: string): void {
  const before = node.key;
  rekey(node, key);
  storage.undo?.push(() => rekey(node, before));
}

function rekey(node: StorageNode, key: string): void {
  detach(node);
  node.key = key;
  attach(node);
}

/** Sets the plain value of a key, or removes it when `value` is undefined. */
export function setPlain(storage: Storage, { data }: ObjectNode, key: string, value: Json | undefined): void {
  const before = data.get(key);
  assign(data, key, value);
  storage.undo?.push(() => assign(data, key, before));
}

function assign(data: Map<string, Json>, key: string, value: Json | undefined): void {
  if (value === undefined) data.delete(key);
  else data.set(key, value);
}

export interface TextUpdate {
  readonly opId: string | undefined;
  readonly operations: readonly TextOperation[];
  /** The text with `operations` applied. */
  readonly data: LiveTextData;
}

/** The next version of a text. */
export function updateText(storage: Storage, text: TextNode, { opId, operations, data }: TextUpdate): void {
  if (storage.undo !== null) {
    const before = { data: text.data, version: text.version, history: copyOfHistory(text.history) };
    storage.undo.push(() => Object.assign(text, before));
  }
  text.data = data;
  text.version += 1;
  remember(text.history, opId, operations);
}

/** All nodes for a client's FETCH_STORAGE (protocol 4.4). */
export function compactNodes({ nodes }: Storage): CompactNode[] {
  return Array.from(nodes.values(), compactNode);
}

/** All nodes in full (protocol 5.1). */
export function serializedNodes({ nodes }: Storage): [string, SerializedCrdt][] {
  return Array.from(nodes.values(), (node) => [node.id, serializedNode(node)]);
}

interface Stored {
  readonly nodes: readonly CompactNode[];
  readonly histories: readonly (readonly [id: string, history: StoredHistory])[];
}

/**
 * Everything as one JSON text, for a snapshot. Text, because MessagePack has no room for half a surrogate pair and would change it
 * silently; JSON escapes it.
 */
export function dumpStorage(storage: Storage): unknown {
  const histories: Stored['histories'][number][] = [];
  for (const node of storage.nodes.values()) if (node.type === CRDT.TEXT) histories.push([node.id, storedHistory(node.history)]);
  return JSON.stringify({ nodes: compactNodes(storage), histories } satisfies Stored);
}

/** @throws AppError ROOM_UNREADABLE when this is no dump */
export function loadStorage(dump: unknown): Storage {
  const storage = emptyStorage();
  try {
    const { nodes, histories } = JSON.parse(dump as string) as Stored;
    if (nodes[0]?.[0] !== ROOT_ID) throw new AppError('ROOM_UNREADABLE', { reason: 'its Storage does not begin with the root' });
    for (const node of nodes) loadNode(storage, node);
    for (const [id, history] of histories) (storage.nodes.get(id) as TextNode).history = loadHistory(history);
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('ROOM_UNREADABLE', { reason: `its Storage makes no tree (${String(error)})` });
  }
  return storage;
}

function loadNode(storage: Storage, stored: CompactNode): void {
  if (stored[0] === ROOT_ID) {
    for (const [key, value] of Object.entries(stored[1] as JsonObject)) storage.root.data.set(key, value);
    return;
  }
  const [id, type, parentId, key, data, version] = stored as readonly [string, number, string, string, unknown, number];
  const parent = storage.nodes.get(parentId);
  const isKnown = Object.values<number>(CRDT).includes(type);
  if (parent === undefined || !isParent(parent) || !isKnown || parent.children.has(key) || storage.nodes.has(id)) {
    throw new AppError('ROOM_UNREADABLE', { reason: `the node ${id} of its Storage fits nowhere` });
  }
  insertNode(storage, { id, parent, key }, { type, data, version } as Content);
}
