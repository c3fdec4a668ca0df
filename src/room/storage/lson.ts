/** From plain LSON to the ops that make it (contract, "Storage document"; supplement 1.4), and the JSON of one node. The way back as text is `document.ts`. */
import type { Json, JsonObject } from '../../base/json.ts';
import { CRDT, OP, type Op, ROOT_ID } from '../../protocol/storage-ops.ts';
import { creationOps, liveMembers, type NewIds, plainMembers } from './draft.ts';
import { readDocument } from './lson-reader.ts';
import { itemsOf, type StorageNode } from './nodes.ts';
import { plainEntries } from './plain-values.ts';

/** The simple JSON of one node. Recurses at most NODE_DEPTH_MAX deep. */
export function jsonOf(node: StorageNode): Json {
  switch (node.type) {
    case CRDT.OBJECT:
      return { ...Object.fromEntries(plainEntries(node.data)), ...childrenOf(node.children, jsonOf) };
    case CRDT.MAP:
      return childrenOf(node.children, jsonOf);
    case CRDT.LIST:
      return itemsOf(node).map(jsonOf);
    case CRDT.REGISTER:
    case CRDT.TEXT:
      return node.data;
    case CRDT.FILE:
      return { ...node.data };
    default:
      return node satisfies never;
  }
}

function childrenOf(children: ReadonlyMap<string, StorageNode>, form: (node: StorageNode) => Json): JsonObject {
  return Object.fromEntries(Array.from(children, ([key, child]) => [key, form(child)]));
}

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
