/**
 * Storage as documents (contract, "Storage document"; supplement 1.4): plain LSON, which keeps the kinds of nodes, and simple JSON,
 * which does not.
 */
import type { Json, JsonObject } from '../../base/json.ts';
import { CRDT, OP, type Op, ROOT_ID } from '../../protocol/storage-ops.ts';
import { creationOps, liveMembers, type NewIds, plainMembers } from './draft.ts';
import { readDocument } from './lson-reader.ts';
import { itemsOf, type StorageNode } from './nodes.ts';
import type { Storage } from './tree.ts';

/** Simple JSON: objects and maps become objects, lists arrays, texts their segments, files their metadata. */
export function toJson({ root }: Storage): JsonObject {
  return jsonOf(root) as JsonObject;
}

/** The simple JSON of one node. Recurses at most NODE_DEPTH_MAX deep. */
export function jsonOf(node: StorageNode): Json {
  switch (node.type) {
    case CRDT.OBJECT:
      return { ...Object.fromEntries(node.data), ...childrenOf(node.children, jsonOf) };
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

/** @param typeKey name of the member that tells a node's kind: serviceType or liveblocksType */
export function toPlainLson({ root }: Storage, typeKey: string): JsonObject {
  return lsonOf(root) as JsonObject;

  function lsonOf(node: StorageNode): Json {
    switch (node.type) {
      case CRDT.OBJECT:
        return { [typeKey]: 'LiveObject', data: { ...Object.fromEntries(node.data), ...childrenOf(node.children, lsonOf) } };
      case CRDT.MAP:
        return { [typeKey]: 'LiveMap', data: childrenOf(node.children, lsonOf) };
      case CRDT.LIST:
        return { [typeKey]: 'LiveList', data: itemsOf(node).map(lsonOf) };
      case CRDT.REGISTER:
        return node.data;
      case CRDT.TEXT:
        return { [typeKey]: 'LiveText', data: node.data };
      case CRDT.FILE:
        return { [typeKey]: 'LiveFile', data: { ...node.data } };
      default:
        return node satisfies never;
    }
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
