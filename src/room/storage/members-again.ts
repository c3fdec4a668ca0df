/**
 * What makes a client take back values of an object that it set, and that were refused (protocol 5.8): its op comes back as if applied, because it keeps what it
 * changed locked until then; then the values as they are, as if somebody else had set them. No op brings back a live child in their place: that takes a
 * snapshot, and so does what is too much for one message.
 */
import { CRDT, type Op } from '../../protocol/storage-ops.ts';
import { valueCharacters } from '../../protocol/storage-values.ts';
import type { StorageNode } from './nodes.ts';
import { plainValue } from './plain-values.ts';
import { addSurplus, refusedSurplus, type Surplus } from './surplus.ts';
import { opThatSays, type RejectedVerdict } from './verdict.ts';

/** @param keys of the node, which the op changes; what they hold may be much longer than the op */
export function membersAgain(
  node: StorageNode | undefined,
  { op, keys }: { readonly op: Op; readonly keys: readonly string[] },
  surplus: Surplus,
): NonNullable<RejectedVerdict['takeBack']> {
  if (node?.type !== CRDT.OBJECT || keys.some((key) => node.children.has(key)) || refusedSurplus(surplus) !== null)
    return { replies: [op], needsState: true };
  let characters = 0;
  for (const key of keys) characters += valueCharacters(plainValue(node.data, key));
  addSurplus(surplus, characters);
  return { replies: [op, ...keys.map((key) => opThatSays(node, key))], needsState: false };
}
