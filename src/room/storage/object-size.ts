/**
 * How large one LiveObject may grow (supplement 1.9): its plain values together; live children do not count.
 *
 * Asked before an op is applied, never when the journal is replayed: what was once stored stays readable under any limit.
 */
import type { Json } from '../../base/json.ts';
import { CRDT, OP, type Op, type UpdateObjectOp } from '../../protocol/storage-ops.ts';
import { memberCharacters, VALUE_CHARACTERS_MAX } from '../../protocol/storage-values.ts';
import type { ObjectNode } from './nodes.ts';
import type { Storage } from './tree.ts';
import type { RejectedVerdict } from './verdict.ts';

/** Why an op may not be applied, or null. An object that is too large already may still shrink. */
export function refusedGrowth(storage: Storage, op: Op): RejectedVerdict | null {
  if (op.type !== OP.UPDATE_OBJECT) return null;
  const node = storage.nodes.get(op.id);
  if (node?.type !== CRDT.OBJECT) return null;
  const growth = growthBy(node, op.data);
  if (growth <= 0 || charactersIn(node) + growth <= VALUE_CHARACTERS_MAX) return null;
  const reason = `A LiveObject may not hold more than ${VALUE_CHARACTERS_MAX} characters of plain values`;
  return { is: 'rejected', reason, takeBack: takenBack(node, op) };
}

function growthBy(node: ObjectNode, data: UpdateObjectOp['data']): number {
  let growth = 0;
  for (const [key, value] of Object.entries(data)) growth += memberCharacters(key, value) - charactersAt(node, key);
  return growth;
}

function charactersAt(node: ObjectNode, key: string): number {
  const value: Json | undefined = node.data.get(key);
  return value === undefined ? 0 : memberCharacters(key, value);
}

function charactersIn(node: ObjectNode): number {
  node.characters ??= [...node.data.keys()].reduce((sum, key) => sum + charactersAt(node, key), 0);
  return node.characters;
}

/**
 * The op comes back as if applied, because its sender keeps what it changed locked until then; then the values as they were, as if somebody
 * else had set them. No op brings back a live child in their place: that takes a snapshot.
 */
function takenBack(node: ObjectNode, op: UpdateObjectOp): NonNullable<RejectedVerdict['takeBack']> {
  const keys = Object.keys(op.data);
  if (keys.some((key) => node.children.has(key))) return { replies: [op], needsState: true };
  return { replies: [op, ...keys.map((key) => fixOf(node, key))], needsState: false };
}

function fixOf({ id, data }: ObjectNode, key: string): Op {
  const value = data.get(key);
  return value === undefined ? { type: OP.DELETE_OBJECT_KEY, id, key } : { type: OP.UPDATE_OBJECT, id, data: { [key]: value } };
}
