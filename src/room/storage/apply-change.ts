/** The rules of ops that change, move or delete nodes (protocol §5.5). An op on a node that is gone has no effect. */
import {
  CRDT,
  type DeleteCrdtOp,
  type DeleteObjectKeyOp,
  type SetParentKeyOp,
  type UpdateObjectOp,
} from '../../protocol/storage-ops.ts';
import { placeIn } from './list-places.ts';
import { noteDeleted, noteMoved } from './list-sets.ts';
import { asPos } from './positions.ts';
import type { Surplus } from './surplus.ts';
import { moveNode, removeChildAt, removeSubtree, type Storage, setPlain } from './tree.ts';
import { type Verdict, withKey } from './verdict.ts';

/** Moves a list item; onto a taken position means right after whoever holds it. */
export function applySetParentKey(storage: Storage, op: SetParentKeyOp, surplus: Surplus | null): Verdict {
  const node = storage.nodes.get(op.id);
  if (node?.parent?.type !== CRDT.LIST) return { is: 'ignored' };
  if (asPos(op.parentKey) === node.key) return { is: 'applied', op: withKey(op, node.key) };
  const key = placeIn(node.parent, { parentKey: op.parentKey }, surplus); // whatever else stands in the op: a move is no set
  if (typeof key !== 'string') return key;
  moveNode(storage, node, key);
  noteMoved(storage, node.id);
  return { is: 'applied', op: withKey(op, key) };
}

/** Sets plain values, over plain and live ones alike. */
export function applyUpdateObject(storage: Storage, op: UpdateObjectOp): Verdict {
  const node = storage.nodes.get(op.id);
  if (node?.type !== CRDT.OBJECT) return { is: 'ignored' };
  for (const [key, value] of Object.entries(op.data)) {
    removeChildAt(storage, node, key);
    setPlain(storage, node, key, value);
  }
  return { is: 'applied', op };
}

/** Has an echo even when the key was absent: the client keeps the key locked until then (protocol 5.4). */
export function applyDeleteObjectKey(storage: Storage, op: DeleteObjectKeyOp): Verdict {
  const node = storage.nodes.get(op.id);
  if (node?.type !== CRDT.OBJECT) return { is: 'ignored' };
  removeChildAt(storage, node, op.key);
  setPlain(storage, node, op.key, undefined);
  return { is: 'applied', op };
}

export function applyDeleteCrdt(storage: Storage, op: DeleteCrdtOp): Verdict {
  const node = storage.nodes.get(op.id);
  if (node === undefined || node === storage.root) return { is: 'ignored' };
  removeSubtree(storage, node);
  if (node.parent?.type === CRDT.LIST) noteDeleted(storage, node);
  return { is: 'applied', op };
}
