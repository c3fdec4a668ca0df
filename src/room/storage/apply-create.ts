/** The rules of creating nodes (protocol §5.5, 6.2): last writer wins at a key, everybody finds a place in a list, nothing is made twice. */
import { CRDT, type CreateOp, OP, type Op } from '../../protocol/storage-ops.ts';
import { textCharacters } from '../../protocol/storage-values.ts';
import { placeIn } from './list-places.ts';
import { type ListItem, noteMoved, noteReplaced, placeOfSet } from './list-sets.ts';
import { type Content, isParent, type ListNode, NODE_DEPTH_MAX, type StorageNode } from './nodes.ts';
import { addSurplus, refusedSurplus, type Surplus } from './surplus.ts';
import { insertNode, removeChildAt, removeSubtree, type Storage, setPlain } from './tree.ts';
import { type Verdict, withKey } from './verdict.ts';

export function applyCreate(storage: Storage, op: CreateOp, surplus: Surplus | null): Verdict {
  const existing = storage.nodes.get(op.id);
  if (existing !== undefined) return acknowledgeAgain(existing, op, surplus);
  const parent = storage.nodes.get(op.parentId);
  if (parent === undefined || !isParent(parent)) return { is: 'ignored' };
  if (parent.depth >= NODE_DEPTH_MAX)
    return {
      is: 'rejected',
      reason: `Storage may not be nested deeper than ${NODE_DEPTH_MAX}`,
      takeBack: { replies: [op], needsState: true }, // its sender keeps the key locked until it comes back
    };

  const revives = storage.deletedIds.has(op.id);
  if (parent.type === CRDT.LIST && op.intent === 'set' && surplus !== null) {
    const place = placeOfSet(storage, parent, op);
    if (place.is === 'behind the other') return applyCreate(storage, withoutIntent(op), surplus);
    if (place.is === 'where that is') return replaceWhereItIs(storage, op, { list: parent, replaced: place.replaced, surplus });
  }
  const key = parent.type === CRDT.LIST ? placeIn(parent, op, surplus) : op.parentKey;
  if (typeof key !== 'string') return key;
  const fixes = parent.type === CRDT.LIST && op.intent === 'set' ? clearForSet(storage, parent, withKey(op, key)) : [];
  removeChildAt(storage, parent, key);
  if (parent.type === CRDT.OBJECT) setPlain(storage, parent, key, undefined);
  insertNode(storage, { id: op.id, parent, key }, contentOfCreate(op));
  if (key !== op.parentKey) noteMoved(storage, op.id);
  return { is: 'applied', op: withKey(op, key), fixes, revives };
}

/** Clients are told of two changes, a deletion and an insertion: one that waits for another set of its own there passes over the echo of a set. */
function replaceWhereItIs(
  storage: Storage,
  op: CreateOp,
  { list, replaced, surplus }: { readonly list: ListNode; readonly replaced: ListItem; readonly surplus: Surplus },
): Verdict {
  const refusal = refusedSurplus(surplus);
  if (refusal !== null) return refusal;
  addSurplus(surplus, replaced.key.length - op.parentKey.length);
  const revives = storage.deletedIds.has(op.id);
  const applied = withKey(op, replaced.key);
  removeSubtree(storage, replaced);
  noteReplaced(storage, replaced, op.id);
  noteMoved(storage, op.id);
  insertNode(storage, { id: op.id, parent: list, key: replaced.key }, contentOfCreate(op));
  return {
    is: 'applied',
    op: withoutIntent(applied),
    fixes: [{ type: OP.DELETE_CRDT, id: replaced.id }],
    revives,
    journal: applied,
  };
}

/** A resent op: its sender learns where the node is now; the deletion it asked for is not done again. 'ignored' when it makes another node. */
export function acknowledgeAgain(node: StorageNode, op: CreateOp, surplus: Surplus | null): Verdict {
  if (!isMadeBy(node, op)) return { is: 'ignored' };
  const beyond = charactersBeyond(node, op);
  if (surplus !== null && beyond > 0) {
    const refusal = refusedSurplus(surplus);
    if (refusal !== null) return { ...refusal, takeBack: { replies: [withoutIntent(op)], needsState: true } }; // no longer than what came
    addSurplus(surplus, beyond);
  }
  return { is: 'known', op: echoOfKnown(node, op) };
}

/** Whether the node is what the op makes, where it makes it: then the op has had its effect. */
function isMadeBy(node: StorageNode, op: CreateOp): boolean {
  return node.type === contentOfCreate(op).type && node.parent?.id === op.parentId;
}

/** A create as its sender hears of it once more: where the node is now, and without what it asked to be deleted. */
function echoOfKnown(node: StorageNode & { readonly key: string }, op: CreateOp): Op {
  const echo = withoutIntent(withKey(op, node.key));
  return node.type === CRDT.TEXT ? ({ ...echo, data: node.data, version: node.version } as Op) : echo;
}

/** A create that replaces nothing. */
export function withoutIntent({ intent, deletedId, ...echo }: CreateOp): CreateOp {
  return echo as CreateOp;
}

/** How much more its sender is told than it said; most who create a text again say all of it. */
function charactersBeyond(node: StorageNode, op: CreateOp): number {
  const told = node.key.length + (node.type === CRDT.TEXT ? textCharacters(node.data) : 0);
  return told - op.parentKey.length - (op.type === OP.CREATE_TEXT ? textCharacters(op.data) : 0);
}

/**
 * Deletes the item that a set names, wherever in the list that is now. Whoever else holds the position will go too, and everybody must be
 * told: another client may hold a move of that item that it has not sent yet.
 */
function clearForSet(storage: Storage, list: ListNode, { id, parentKey, deletedId }: CreateOp): Op[] {
  const replaced = deletedId === undefined ? undefined : storage.nodes.get(deletedId);
  if (replaced?.parent === list) {
    removeSubtree(storage, replaced);
    noteReplaced(storage, replaced, id);
  }
  const displaced = list.children.get(parentKey);
  if (displaced === undefined) return [];
  noteReplaced(storage, displaced, id);
  return [{ type: OP.DELETE_CRDT, id: displaced.id }];
}

function contentOfCreate(op: CreateOp): Content {
  switch (op.type) {
    case OP.CREATE_OBJECT:
      return { type: CRDT.OBJECT, data: op.data };
    case OP.CREATE_LIST:
      return { type: CRDT.LIST };
    case OP.CREATE_MAP:
      return { type: CRDT.MAP };
    case OP.CREATE_REGISTER:
      return { type: CRDT.REGISTER, data: op.data };
    case OP.CREATE_TEXT:
      return { type: CRDT.TEXT, data: op.data, version: op.version };
    case OP.CREATE_FILE:
      return { type: CRDT.FILE, data: op.data };
    default:
      return op satisfies never;
  }
}
