/**
 * What makes an SDK client take back ops of its own that the server did not apply (protocol 5.8; tried with real clients).
 *
 * The ops come back to it as if applied, because it keeps what it changed locked against everybody's changes until then. What it changed
 * then gets its value again, by ops as if somebody else had sent them, or by a snapshot of all where nodes have to come back or to move.
 * Not always by a snapshot: after each one a client sets those keys of its initial Storage that it misses, and where the schema refuses
 * them the two would go round for ever.
 */
import { CRDT, OP, type Op } from '../../protocol/storage-ops.ts';
import { acknowledgeAgain, withoutIntent } from '../storage/apply-create.ts';
import type { ObjectNode } from '../storage/nodes.ts';
import type { Surplus } from '../storage/surplus.ts';
import type { Slot, Storage } from '../storage/tree.ts';
import { opThatSays } from '../storage/verdict.ts';
import type { Trial } from './decide.ts';

/** What makes the sender of `ops`, which were tried and taken back, come to what Storage holds. */
export function takeBackReplies(storage: Storage, ops: readonly Op[], trial: Trial): { replies: Op[]; needsState: boolean } {
  const sent = ops.map((op) => (op.type === OP.UNFIT ? op.emptied : op));
  const surplus: Surplus = { characters: 0 };
  const echoes = sent.map((op) => echoOf(storage, op, surplus));
  const replies = echoes.map(({ echo }) => echo);
  if (echoes.some(({ needsState }) => needsState)) return { replies, needsState: true };
  const fixes = new Map<ObjectNode, Map<string, Op>>();
  for (const slot of slotsAtOdds(storage, sent, trial)) {
    if (slot === null) return { replies, needsState: true };
    const { parent, key } = slot;
    if (storage.nodes.get(parent.id) !== parent) continue; // it was new itself
    if (parent.type !== CRDT.OBJECT || parent.children.has(key)) return { replies, needsState: true };
    const fixesOfParent = fixes.get(parent) ?? new Map<string, Op>();
    fixes.set(parent, fixesOfParent.set(key, opThatSays(parent, key)));
  }
  for (const fixesOfParent of fixes.values()) for (const fix of fixesOfParent.values()) replies.push(fix);
  return { replies, needsState: false };
}

/** Where the sender may hold something else: what the ops had changed here, and what those of them say that were rejected for themselves; null for what takes a snapshot. */
function* slotsAtOdds({ nodes }: Storage, ops: readonly Op[], { changed, rejected }: Trial): Iterable<Slot | null> {
  yield* changed;
  if (rejected.size === 0) return;
  for (const op of ops) {
    if (op.opId === undefined || !rejected.has(op.opId)) continue;
    if (op.type !== OP.UPDATE_OBJECT) {
      yield null;
      continue;
    }
    const parent = nodes.get(op.id);
    if (parent?.type === CRDT.OBJECT) for (const key of Object.keys(op.data)) yield { parent, key };
  }
}

interface Echo {
  readonly echo: Op;
  /** Whether it says too little: what is known is told again as far as one message may have us write. */
  readonly needsState: boolean;
}

/**
 * Of an edit of a text nothing is left; the client then takes the text from its snapshot (protocol 6.3). A create that is known stands where it is, and
 * no other replaces anything: what a client puts aside for it, as what came there since it sent the op twice, it does not take from a snapshot again.
 */
function echoOf(storage: Storage, op: Op, surplus: Surplus): Echo {
  const known = storage.nodes.get('id' in op ? op.id : '');
  if ('parentId' in op) {
    const again = known === undefined ? null : acknowledgeAgain(known, op, surplus);
    if (again?.is === 'known') return { echo: again.op, needsState: false };
    return { echo: withoutIntent(op), needsState: again?.is === 'rejected' };
  }
  const isEdit = op.type === OP.UPDATE_TEXT && known?.type === CRDT.TEXT;
  return { echo: isEdit ? { ...op, baseVersion: known.version, version: known.version, ops: [] } : op, needsState: false };
}
