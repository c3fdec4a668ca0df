/**
 * The Storage of one room: a flat table of nodes that form one tree, and the few functions that change it.
 *
 * Every change goes through here, so that a group of them can be undone. Which changes are right, `apply.ts` knows.
 */
import type { Json } from '../../base/json.ts';
import { SmallMap } from '../../base/small.ts';
import { CRDT, type LiveTextData, ROOT_ID } from '../../protocol/storage-ops.ts';
import { countMember } from '../../protocol/storage-values.ts';
import { type Heirs, noHeirs } from './heirs.ts';
import { noneMoved, noSuccessors, type Successors } from './list-sets.ts';
import {
  attach,
  type Content,
  detach,
  isParent,
  newNode,
  type ObjectNode,
  type ParentNode,
  type Place,
  type StorageNode,
  type TextNode,
} from './nodes.ts';
import { isWithoutValues, plainValue, withPlainValue } from './plain-values.ts';
import { RecentIds } from './recent-ids.ts';
import { type Departures, noDepartures } from './text-departures.ts';
import { type AppliedUpdate, remember } from './text-history.ts';
import { outlineOf } from './text-outline.ts';
import type { StorageTexts } from './texts.ts';

/** Deleted ids that are remembered, to notice when one comes back (protocol 6.2). Those of a connection's own nodes need it, no others: a
 * forgotten one may cost that client one stale key, if somebody else deleted the node, too, and 10,000 others before it came back. */
const DELETED_IDS_MAX = 10_000;
/** Edits of texts that are known when they are sent again: in every text its last, and in all texts together so many. */
const TEXT_OP_IDS_MAX = 10_000;

export interface Storage {
  readonly root: ObjectNode;
  /** By id; a parent always comes before its children. */
  readonly nodes: Map<string, StorageNode>;
  readonly deletedIds: RecentIds;
  /** Op ids of the last edits of all texts, with their outlines: one text alone forgets too soon when many write in it. */
  readonly textOpIds: RecentIds;
  /** What clients that left had heard of the texts. */
  readonly departures: Departures;
  /** Which connections brought back the ops of others. */
  readonly heirs: Heirs;
  /** Which items came in the place of others. */
  readonly successors: Successors;
  /** Items of lists that are elsewhere than they were wanted at first. */
  readonly moved: RecentIds;
  /** How many nodes stand for a file, by the file's id. */
  readonly files: Map<string, number>;
  /** Count of changes, and of those taken back: whoever reads it in parts sees by it that it has to begin anew. */
  edits: number;
  /** What was written of it last; null when nothing was, or nobody asked for a while. */
  texts: StorageTexts | null;
  /** The changes made so far by what runs `atomically`; null when nobody will ask. */
  changes: Change[] | null;
}

/** A member of an object, an item of a list or an entry of a map: what may hold a value or a node, or nothing. */
export interface Slot {
  readonly parent: ParentNode;
  readonly key: string;
}

export interface Change {
  /** Where something else stands since; null when only a text changed. */
  readonly slot: Slot | null;
  takeBack(): void;
}

export function emptyStorage(): Storage {
  const root = newNode({ id: ROOT_ID, parent: null, key: '' }, { type: CRDT.OBJECT, data: {} }) as ObjectNode;
  const deletedIds = new RecentIds(DELETED_IDS_MAX);
  const textOpIds = new RecentIds(TEXT_OP_IDS_MAX);
  return {
    root,
    nodes: new SmallMap([[ROOT_ID, root]]),
    deletedIds,
    textOpIds,
    departures: noDepartures(),
    heirs: noHeirs(),
    successors: noSuccessors(),
    moved: noneMoved(),
    files: new SmallMap(),
    edits: 0,
    texts: null,
    changes: null,
  };
}

/** A root without keys counts as no Storage (supplement 1.4). */
export function isEmptyStorage({ root }: Storage): boolean {
  return root.children.size === 0 && isWithoutValues(root.data);
}

/**
 * Runs `work`, and takes back every change it made when it throws or says so; `work` may look at the changes made so far. Within itself, the
 * inner one takes back its own part.
 */
export function atomically(storage: Storage, work: (changes: readonly Change[]) => 'take back' | undefined): void {
  const outer = storage.changes;
  const changes = outer ?? [];
  const before = changes.length;
  storage.changes = changes;
  let verdict: 'take back' | undefined = 'take back';
  try {
    verdict = work(changes);
  } finally {
    if (verdict === 'take back') {
      while (changes.length > before) changes.pop()!.takeBack();
      edited(storage);
    }
    storage.changes = outer;
  }
}

/** What was written of it is of what it was. */
function edited(storage: Storage): void {
  storage.edits += 1;
}

/** Adds a node at a place that is free. */
export function insertNode(storage: Storage, place: Place, content: Content): void {
  edited(storage);
  const node = newNode(place, content);
  addToTable(storage, node);
  attach(node);
  storage.changes?.push({
    slot: slotOf(node),
    takeBack() {
      removeFromTable(storage, node);
      detach(node);
    },
  });
}

function addToTable({ nodes, files }: Storage, node: StorageNode): void {
  nodes.set(node.id, node);
  if (node.type === CRDT.FILE) files.set(node.data.id, (files.get(node.data.id) ?? 0) + 1);
}

function removeFromTable({ nodes, files }: Storage, node: StorageNode): void {
  nodes.delete(node.id);
  if (node.type !== CRDT.FILE) return;
  const left = (files.get(node.data.id) ?? 0) - 1;
  if (left > 0) files.set(node.data.id, left);
  else files.delete(node.data.id);
}

/** Removes a node and all below it. A loop, so the depth of the tree does not matter. */
export function removeSubtree(storage: Storage, top: StorageNode): void {
  edited(storage);
  detach(top);
  const gone = [top];
  for (let at = 0; at < gone.length; at += 1) {
    const node = gone[at]!;
    removeFromTable(storage, node);
    storage.deletedIds.add(node.id);
    if (isParent(node)) for (const child of node.children.values()) gone.push(child);
  }
  storage.changes?.push({
    slot: slotOf(top),
    takeBack() {
      for (const node of gone) addToTable(storage, node);
      attach(top);
    },
  });
}

/** The root is never made or removed, so whatever is has a parent. */
function slotOf({ parent, key }: StorageNode): Slot {
  return { parent: parent!, key };
}

/** Removes the child at a key or position, if there is one. */
export function removeChildAt(storage: Storage, parent: ParentNode, key: string): void {
  const child = parent.children.get(key);
  if (child !== undefined) removeSubtree(storage, child);
}

/** Gives a node another key under the same parent; the key must be free. */
export function moveNode(storage: Storage, node: StorageNode, key: string): void {
  edited(storage);
  const before = node.key;
  rekey(node, key);
  storage.changes?.push({ slot: slotOf(node), takeBack: () => rekey(node, before) });
}

function rekey(node: StorageNode, key: string): void {
  detach(node);
  node.key = key;
  attach(node);
}

/** Sets the plain value of a key, or removes it when `value` is undefined. */
export function setPlain(storage: Storage, parent: ObjectNode, key: string, value: Json | undefined): void {
  edited(storage);
  const before = plainValue(parent.data, key);
  assign(parent, key, value);
  storage.changes?.push({ slot: { parent, key }, takeBack: () => assign(parent, key, before) });
}

function assign(parent: ObjectNode, key: string, value: Json | undefined): void {
  const { data } = parent;
  if (parent.size !== null) {
    countMember(parent.size, -1, key, plainValue(data, key));
    countMember(parent.size, 1, key, value);
  }
  parent.data = withPlainValue(data, key, value);
}

/** The next version of a text: an update, and the text with it applied. */
export interface TextUpdate extends AppliedUpdate {
  readonly data: LiveTextData;
}

export function updateText(storage: Storage, text: TextNode, { data, ...update }: TextUpdate): void {
  edited(storage);
  const { textOpIds } = storage;
  const { opId = null } = update;
  const outline = opId === null ? undefined : textOpIds.noteOf(opId);
  const generations = textOpIds.generations();
  if (opId !== null) textOpIds.put(opId, outlineOf(update.sent ?? update.operations));
  const before = { data: text.data, version: text.version };
  text.data = data;
  text.version += 1;
  const forget = remember(text.history, update);
  storage.changes?.push({
    slot: null,
    takeBack() {
      Object.assign(text, before);
      forget();
      if (opId === null) return;
      if (outline === undefined) textOpIds.returnTo(generations, opId);
      else textOpIds.put(opId, outline);
    },
  });
}
