/** Whether a live node, as simple JSON (supplement 1.5), equals a JSON value. That JSON is not made: it costs many times what the look at it does. */
import { isJsonObject, type Json } from '../../base/json.ts';
import { CRDT } from '../../protocol/storage-ops.ts';
import { jsonEquals } from './json-equals.ts';
import { itemsOf, type ListNode, type ParentNode, type StorageNode } from './nodes.ts';
import { plainEntries } from './plain-values.ts';

/** Recurses no deeper than the shallower of the two, and looks into no more than the smaller. */
export function nodeEquals(node: StorageNode, value: Json): boolean {
  switch (node.type) {
    case CRDT.OBJECT:
      return membersEqual(node, Array.from(plainEntries(node.data)), value);
    case CRDT.MAP:
      return membersEqual(node, [], value);
    case CRDT.LIST:
      return itemsEqual(node, value);
    case CRDT.REGISTER:
    case CRDT.TEXT:
    case CRDT.FILE:
      return jsonEquals(node.data, value);
    default:
      return node satisfies never;
  }
}

function itemsEqual(list: ListNode, value: Json): boolean {
  if (!Array.isArray(value) || value.length !== list.children.size) return false;
  return itemsOf(list).every((item, at) => nodeEquals(item, value[at]!));
}

function membersEqual({ children }: ParentNode, plain: readonly (readonly [key: string, value: Json])[], value: Json): boolean {
  if (!isJsonObject(value) || Object.keys(value).length !== plain.length + children.size) return false;
  if (!plain.every(([key, inner]) => Object.hasOwn(value, key) && jsonEquals(inner, value[key]!))) return false;
  for (const [key, child] of children) if (!Object.hasOwn(value, key) || !nodeEquals(child, value[key]!)) return false;
  return true;
}
