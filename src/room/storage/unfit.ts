/**
 * Ops whose keys or values may not be stored (supplement 1.9, reliability 2.f): each is refused for itself, and its sender takes it back
 * (protocol 5.8). Under an object ops do that: after a snapshot a client would set the keys of its initial Storage again, and so for ever.
 */
import { CRDT, OP, type UnfitOp } from '../../protocol/storage-ops.ts';
import type { Storage } from './tree.ts';
import { opThatSays, type RejectedVerdict } from './verdict.ts';

/** Of a pointer: keys on the way may be megabytes long. */
const POINTER_CHARACTERS_MAX = 200;

type Emptied = UnfitOp['emptied'];

export function refusedUnfit({ nodes }: Storage, { emptied, problem }: UnfitOp): RejectedVerdict {
  const reason = `The op${at(problem)} ${problem.reason}`;
  if (emptied.type === OP.UPDATE_TEXT) return { is: 'rejected', reason, takeBack: { replies: [], needsState: false } };
  const { id, keys } = membersIn(emptied);
  const node = nodes.get(id);
  if (node?.type !== CRDT.OBJECT || keys.some((key) => node.children.has(key)))
    return { is: 'rejected', reason, takeBack: { replies: [emptied], needsState: true } };
  const fixes = keys.map((key) => opThatSays(node, key));
  return { is: 'rejected', reason, takeBack: { replies: [emptied, ...fixes], needsState: false } };
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
