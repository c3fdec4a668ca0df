/** The rules of ops that change, move or delete nodes (protocol §5.5). An op on a node that is gone has no effect. */
import {
  CRDT,
  type DeleteCrdtOp,
  type DeleteObjectKeyOp,
  type SetParentKeyOp,
  type UpdateObjectOp,
} from '../../protocol/storage-ops.ts';
import { positionsOf } from './nodes.ts';
import { asPos, makePosition } from './positions.ts';
import { moveNode, removeChildAt, removeSubtree, type Storage, setPlain } from './tree.ts';
import { type Verdict, withKey } from './verdict.ts';

/** Moves a list item; onto a taken position means right after whoever holds it. */
export function applySetParentKey(storage: Storage, op: SetParentKeyOp): Verdict {
  const node = storage.nodes.get(op.id);
  if (node?.parent?.type !== CRDT.LIST) return { is: 'ignored' };
  const wanted = asPos(op.parentKey);
  if (wanted === node.key) return { is: 'applied', op: withKey(op, wanted) };
  const key = node.parent.children.has(wanted) ? makePosition(wanted, positionsOf(node.parent).after(wanted)) : wanted;
  moveNode(storage, node, key);
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
  return { is: 'applied', op };
}
