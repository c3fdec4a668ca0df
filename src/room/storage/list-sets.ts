/**
 * Where the item of a set goes when another one stands at the place that it asks for than the one it replaces. Protocol §5.5 deletes the other one. But its
 * sender may not have seen that there: two pushes wanted one place, the other came first, and what is replaced was put behind it. Then the other one stays, which
 * nobody replaced, unless it came in place of the same item.
 */
import { putNewest } from '../../base/newest.ts';
import { SmallMap } from '../../base/small.ts';
import type { CreateOp } from '../../protocol/storage-ops.ts';
import { makerOf } from './makers.ts';
import type { ListNode, StorageNode } from './nodes.ts';
import { asPos } from './positions.ts';
import { RecentIds } from './recent-ids.ts';
import type { Storage } from './tree.ts';

export type ListItem = StorageNode & { readonly key: string };

export type SetPlace =
  | { readonly is: 'as it asks' }
  /** The item that it replaces, or what came in its place, is elsewhere in the list by now. */
  | { readonly is: 'where that is'; readonly replaced: ListItem }
  /** That was deleted meanwhile, and nothing came in its place. */
  | { readonly is: 'behind the other' };

/** By the id of an item that was replaced, that of the one in its place. */
export type Successors = Map<string, string>;

/** Sets of one item cross each other within a round trip; of more than so many later ones it does not matter any more. */
const SUCCESSORS_MAX = 1_000;
const MOVED_MAX = 1_000;
/** So often an item was replaced since its sender saw it. */
const STEPS_MAX = 100;
/** What `deletedIds` notes of an item that is not replaced. */
const DELETED = 1;

export function noSuccessors(): Successors {
  return new SmallMap();
}

export function noneMoved(): RecentIds {
  return new RecentIds(MOVED_MAX);
}

export function placeOfSet(storage: Storage, list: ListNode, { id, parentKey, deletedId }: CreateOp): SetPlace {
  const other = list.children.get(asPos(parentKey));
  if (deletedId === undefined || other === undefined || other.id === deletedId) return AS_IT_ASKS;
  const replaced = successorOf(storage, deletedId);
  if (typeof replaced === 'object') {
    const isElsewhere = replaced !== other && replaced.parent === list;
    return isElsewhere && mayBeAstray(storage, deletedId, replaced) ? { is: 'where that is', replaced } : AS_IT_ASKS;
  }
  if (makerOf(id) === makerOf(other.id)) return AS_IT_ASKS; // its sender has put that aside, and waits for its deletion
  return replaced === 'deleted' ? BEHIND_THE_OTHER : AS_IT_ASKS;
}

/** Whether a client may believe the item elsewhere. One that came back has found places for what it sent again by itself. */
function mayBeAstray({ moved, heirs }: Storage, deletedId: string, replaced: ListItem): boolean {
  return moved.has(deletedId) || moved.has(replaced.id) || heirs.has(makerOf(deletedId));
}

/** An item stands elsewhere than its maker, or somebody who saw it before, believes. */
export function noteMoved({ moved }: Storage, id: string): void {
  moved.put(id, 0);
}

/** The item itself, or what came in its place; else what is known of it. */
function successorOf({ nodes, deletedIds, successors }: Storage, itemId: string): ListItem | 'deleted' | 'unknown' {
  let id: string | undefined = itemId;
  for (let steps = 0; id !== undefined && steps < STEPS_MAX; steps += 1) {
    const item = nodes.get(id);
    if (item !== undefined) return item;
    if (deletedIds.noteOf(id) === DELETED) return 'deleted';
    id = successors.get(id);
  }
  return 'unknown';
}

/** An op has deleted the item, and nothing comes in its place. */
export function noteDeleted({ deletedIds }: Storage, { id }: StorageNode): void {
  deletedIds.put(id, DELETED);
}

export function noteReplaced({ successors }: Storage, { id }: StorageNode, successorId: string): void {
  putNewest(successors, id, successorId, SUCCESSORS_MAX);
}

const AS_IT_ASKS: SetPlace = { is: 'as it asks' };
const BEHIND_THE_OTHER: SetPlace = { is: 'behind the other' };
