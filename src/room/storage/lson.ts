/** From plain LSON to the ops that make it (contract, "Storage document"; supplement 1.4). The way back, as text, is `document.ts`. */
import type { Json } from '../../base/json.ts';
import { OP, type Op, ROOT_ID } from '../../protocol/storage-ops.ts';
import { creationOps, liveMembers, type NewIds, plainMembers } from './draft.ts';
import { readDocument } from './lson-reader.ts';

/**
 * The ops that make an empty Storage hold a plain LSON document, whichever of the two type keys it uses.
 * @throws AppError UNPROCESSABLE_ENTITY with a pointer to what is wrong
 */
export function opsFromLson(root: Json, ids: NewIds): Op[] {
  const members = readDocument(root);
  const data = plainMembers(members);
  const ops: Op[] = Object.keys(data).length === 0 ? [] : [{ type: OP.UPDATE_OBJECT, opId: ids.nextOpId(), id: ROOT_ID, data }];
  return ops.concat(
    liveMembers(members).flatMap(([parentKey, draft]) => creationOps(draft, { parentId: ROOT_ID, parentKey }, ids)),
  );
}
