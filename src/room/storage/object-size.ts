/**
 * How large one LiveObject may grow (supplement 1.9): its plain values together; live children do not count.
 *
 * Asked before an op is applied, never when the journal is replayed: what was once stored stays readable under any limit.
 */
import { CRDT, OP, type Op, type UpdateObjectOp } from '../../protocol/storage-ops.ts';
import {
  countMember,
  type MembersSize,
  noMembersSize,
  VALUE_CHARACTERS_MAX,
  VALUE_KEYS_MAX,
} from '../../protocol/storage-values.ts';
import { membersAgain } from './members-again.ts';
import type { ObjectNode } from './nodes.ts';
import { plainEntries, plainValue } from './plain-values.ts';
import type { Surplus } from './surplus.ts';
import type { Storage } from './tree.ts';
import type { RejectedVerdict } from './verdict.ts';

/** Why an op may not be applied, or null. An object that is too large already may still shrink. */
export function refusedGrowth(storage: Storage, op: Op, surplus: Surplus): RejectedVerdict | null {
  if (op.type !== OP.UPDATE_OBJECT) return null;
  const node = storage.nodes.get(op.id);
  if (node?.type !== CRDT.OBJECT) return null;
  const growth = growthBy(node, op.data);
  const tooMuch = beyond(node, growth, 'characters') ?? beyond(node, growth, 'keys');
  if (tooMuch === null) return null;
  return {
    is: 'rejected',
    reason: `A LiveObject may not hold more than ${tooMuch} of plain values`,
    takeBack: membersAgain(node, { op, keys: Object.keys(op.data) }, surplus),
  };
}

/** What one op may bring, so that one op, of a client that undoes a deletion, can bring all of it back. */
const MAX: Readonly<MembersSize> = { characters: VALUE_CHARACTERS_MAX, keys: VALUE_KEYS_MAX };

function beyond(node: ObjectNode, growth: MembersSize, of: keyof MembersSize): string | null {
  return growth[of] > 0 && sizeOf(node)[of] + growth[of] > MAX[of] ? `${MAX[of]} ${of}` : null;
}

function growthBy(node: ObjectNode, data: UpdateObjectOp['data']): MembersSize {
  const growth = { characters: 0, keys: 0 };
  for (const [key, value] of Object.entries(data)) {
    countMember(growth, -1, key, plainValue(node.data, key));
    countMember(growth, 1, key, value);
  }
  return growth;
}

function sizeOf(node: ObjectNode): MembersSize {
  node.size ??= measured(node);
  return node.size;
}

function measured({ data }: ObjectNode): MembersSize {
  const size = noMembersSize();
  for (const [key, value] of plainEntries(data)) countMember(size, 1, key, value);
  return size;
}
