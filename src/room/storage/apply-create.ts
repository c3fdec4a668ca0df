/** The rules of creating nodes (protocol §5.5, 6.2): last writer wins at a key, everybody finds a place in a list, nothing is made twice. */
import { CRDT, type CreateOp, OP, type Op } from '../../protocol/storage-ops.ts';
import { type Content, isParent, type ListNode, NODE_DEPTH_MAX, positionsOf, type StorageNode } from './nodes.ts';
import { asPos, makePosition } from './positions.ts';
import { insertNode, removeChildAt, removeSubtree, type Storage, setPlain } from './tree.ts';
import { type Verdict, withKey } from './verdict.ts';

export function applyCreate(storage: Storage, op: CreateOp): Verdict {
  const existing = storage.nodes.get(op.id);
  if (existing !== undefined) return acknowledgeAgain(existing, op);
  const parent = storage.nodes.get(op.parentId);
  if (parent === undefined || !isParent(parent)) return { is: 'ignored' };
  if (parent.depth >= NODE_DEPTH_MAX)
    return { is: 'rejected', reason: `Storage may not be nested deeper than ${NODE_DEPTH_MAX}` };

  const revives = storage.deletedIds.has(op.id);
  const { key, fixes } = parent.type === CRDT.LIST ? placeInList(storage, parent, op) : { key: op.parentKey, fixes: [] };
  removeChildAt(storage, parent, key);
  if (parent.type === CRDT.OBJECT) setPlain(storage, parent, key, undefined);
  insertNode(storage, { id: op.id, parent, key }, contentOfCreate(op));
  return { is: 'applied', op: withKey(op, key), fixes, revives };
}

/** A resent op: its sender learns where the node is now; the deletion it asked for is not done again. */
function acknowledgeAgain(node: StorageNode, op: CreateOp): Verdict {
  if (node.type !== contentOfCreate(op).type || node.parent?.id !== op.parentId) return { is: 'ignored' };
  const { intent, deletedId, ...echo } = withKey(op, node.key);
  return { is: 'known', op: (node.type === CRDT.TEXT ? { ...echo, data: node.data, version: node.version } : echo) as Op };
}

interface ListPlace {
  readonly key: string;
  readonly fixes: readonly Op[];
}

/** Where in the list the new item goes. */
function placeInList(storage: Storage, list: ListNode, op: CreateOp): ListPlace {
  const key = asPos(op.parentKey);
  switch (op.intent) {
    case 'set':
      return { key, fixes: clearForSet(storage, list, { key, deletedId: op.deletedId }) };
    case 'push': {
      const last = positionsOf(list).last();
      return { key: last !== undefined && key <= last ? makePosition(last) : key, fixes: [] };
    }
    default:
      return { key: list.children.has(key) ? makePosition(key, positionsOf(list).after(key)) : key, fixes: [] };
  }
}

/**
 * Deletes the item that a set names, wherever in the list that is now. Whoever else holds the position will go too, and everybody must be
 * told: another client may hold a move of that item that it has not sent yet.
 */
function clearForSet(
  storage: Storage,
  list: ListNode,
  { key, deletedId }: { readonly key: string; readonly deletedId: string | undefined },
): Op[] {
  const replaced = deletedId === undefined ? undefined : storage.nodes.get(deletedId);
  if (replaced?.parent === list) removeSubtree(storage, replaced);
  const displaced = list.children.get(key);
  return displaced === undefined ? [] : [{ type: OP.DELETE_CRDT, id: displaced.id }];
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
