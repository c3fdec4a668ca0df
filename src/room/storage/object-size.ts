/**
 * How large one LiveObject may grow (supplement 1.9): its plain values together; live children do not count.
 *
 * Asked before an op is applied, never when the journal is replayed: what was once stored stays readable under any limit.
 */
import { CRDT, OP, type Op, type UpdateObjectOp } from '../../protocol/storage-ops.ts';
import { memberCharacters, VALUE_CHARACTERS_MAX } from '../../protocol/storage-values.ts';
import type { ObjectNode } from './nodes.ts';
import { plainEntries, plainValue } from './plain-values.ts';
import type { Storage } from './tree.ts';
import { opThatSays, type RejectedVerdict } from './verdict.ts';

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
  const value = plainValue(node.data, key);
  return value === undefined ? 0 : memberCharacters(key, value);
}

function charactersIn(node: ObjectNode): number {
  node.characters ??= sumOf(node);
  return node.characters;
}

function sumOf({ data }: ObjectNode): number {
  let sum = 0;
  for (const [key, value] of plainEntries(data)) sum += memberCharacters(key, value);
  return sum;
}

/**
 * The op comes back as if applied, because its sender keeps what it changed locked until then; then the values as they were, as if somebody
 * else had set them. No op brings back a live child in their place: that takes a snapshot.
 */
function takenBack(node: ObjectNode, op: UpdateObjectOp): NonNullable<RejectedVerdict['takeBack']> {
  const keys = Object.keys(op.data);
  if (keys.some((key) => node.children.has(key))) return { replies: [op], needsState: true };
  return { replies: [op, ...keys.map((key) => opThatSays(node, key))], needsState: false };
}
