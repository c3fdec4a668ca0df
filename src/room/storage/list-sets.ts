/**
 * Where the item of a set goes when another one stands at the place that it asks for than the one it replaces: its sender had not seen that there, for two
 * pushes wanted one place, and the other came first. Protocol §5.5 deletes it, though nobody replaced it; here it stays, unless it may have replaced the same item.
 */
import type { CreateOp } from '../../protocol/storage-ops.ts';
import { makerOf } from './makers.ts';
import type { ListNode, StorageNode } from './nodes.ts';
import { asPos } from './positions.ts';
import type { Storage } from './tree.ts';

export type ListItem = StorageNode & { readonly key: string };

export type SetPlace =
  | { readonly is: 'as it asks' }
  /** The item that it replaces is elsewhere in the list by now. */
  | { readonly is: 'where that is'; readonly replaced: ListItem }
  /** That was deleted meanwhile, and not replaced. */
  | { readonly is: 'behind the other' };

/** What `deletedIds` notes of an item that is not replaced. */
const DELETED = 1;

export function placeOfSet({ nodes, deletedIds }: Storage, list: ListNode, { id, parentKey, deletedId }: CreateOp): SetPlace {
  const other = list.children.get(asPos(parentKey));
  if (deletedId === undefined || other === undefined || other.id === deletedId) return AS_IT_ASKS;
  const replaced = nodes.get(deletedId);
  if (replaced !== undefined) return replaced.parent === list ? { is: 'where that is', replaced } : AS_IT_ASKS;
  if (makerOf(id) === makerOf(other.id)) return AS_IT_ASKS; // its sender has put that aside, and waits for its deletion
  return deletedIds.noteOf(deletedId) === DELETED ? BEHIND_THE_OTHER : AS_IT_ASKS;
}

/** An op has deleted the item, and nothing comes in its place. */
export function noteDeleted({ deletedIds }: Storage, { id }: StorageNode): void {
  deletedIds.put(id, DELETED);
}

const AS_IT_ASKS: SetPlace = { is: 'as it asks' };
const BEHIND_THE_OTHER: SetPlace = { is: 'behind the other' };
