/**
 * Ops whose keys or values may not be stored (supplement 1.9, reliability 2.f): each is refused for itself, and its sender takes it back
 * (protocol 5.8). Under an object ops do that: after a snapshot a client would set the keys of its initial Storage again, and so for ever.
 */
import { OP, type Op, type UnfitOp } from '../../protocol/storage-ops.ts';
import { membersAgain } from './members-again.ts';
import type { Surplus } from './surplus.ts';
import type { Storage } from './tree.ts';
import type { RejectedVerdict } from './verdict.ts';

/** Of a pointer: keys on the way may be megabytes long. */
const POINTER_CHARACTERS_MAX = 200;

type Emptied = UnfitOp['emptied'];

/** Why an op may not be applied, or null. */
export function refusedUnfit({ nodes }: Storage, op: Op, surplus: Surplus): RejectedVerdict | null {
  if (op.type !== OP.UNFIT) return null;
  const { emptied, problem } = op;
  const reason = `The op${at(problem)} ${problem.reason}`;
  if (emptied.type === OP.UPDATE_TEXT) return { is: 'rejected', reason, takeBack: { replies: [], needsState: false } };
  const { id, keys } = membersIn(emptied);
  return { is: 'rejected', reason, takeBack: membersAgain(nodes.get(id), { op: emptied, keys }, surplus) };
}

function at({ pointer }: UnfitOp['problem']): string {
  return pointer === '' ? '' : `'s ${pointer.slice(0, POINTER_CHARACTERS_MAX)}`;
}

/** What the op changes, if it is members of an object. */
function membersIn(op: Emptied): { id: string; keys: readonly string[] } {
  if ('parentId' in op) return { id: op.parentId, keys: [op.parentKey] };
  if (op.type === OP.UPDATE_OBJECT) return { id: op.id, keys: Object.keys(op.data) };
  if (op.type === OP.DELETE_OBJECT_KEY) return { id: op.id, keys: [op.key] };
  return { id: '', keys: [] };
}
