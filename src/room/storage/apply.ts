/**
 * The server's side of the Storage protocol (§5.4, 5.5, 6.2, 6.4): ops in, one at a time, and who is told what of each.
 *
 * The rules of single ops stand in `apply-create.ts`, `apply-change.ts` and `apply-text.ts`. Permissions, files and delivery are
 * other people's business.
 */
import { SmallSet } from '../../base/small.ts';
import { CRDT, type CreateOp, OP, type Op } from '../../protocol/storage-ops.ts';
import { applyDeleteCrdt, applyDeleteObjectKey, applySetParentKey, applyUpdateObject } from './apply-change.ts';
import { applyCreate } from './apply-create.ts';
import { applyUpdateText, replayUpdateText, type Within } from './apply-text.ts';
import { refusedGrowth } from './object-size.ts';
import { inOrderMade } from './op-order.ts';
import type { Surplus } from './surplus.ts';
import { withoutEchoes } from './text-resend.ts';
import { TextWork } from './text-work.ts';
import type { Storage } from './tree.ts';
import { refusedNumber } from './unassigned.ts';
import { refusedUnfit } from './unfit.ts';
import type { RejectedVerdict, Verdict } from './verdict.ts';

interface Rejection {
  readonly opIds: string[];
  readonly reason: string;
}

/** All that follows from ops, as data. */
export interface Applied {
  /** To the sender, in order: an ack of every op that was not rejected, and fix ops. */
  readonly replies: Op[];
  /** To every other storage subscriber, in order; never with an opId (protocol 5.4). */
  readonly forwards: Op[];
  /** What `replayOps` needs to come to the same state: ops as applied, opIds kept. */
  readonly journal: Op[];
  /** One REJECT_STORAGE_OP each. */
  readonly rejected: Rejection[];
  /**
   * Whether the sender must get a snapshot it did not ask for (protocol 6.4): after ops of an earlier connection, but for edits of texts, whose
   * answer says it all. With a snapshot behind it a client would send again what it has typed meanwhile, under the op id of the edit it waits for. Not after an undo that
   * brought deleted nodes back, as that section proposes too: measured with real clients, the snapshot made more of them diverge.
   */
  needsRepair: boolean;
}

export function nothingApplied(): Applied {
  return { replies: [], forwards: [], journal: [], rejected: [], needsRepair: false };
}

/** What the ops of one message, or of one patch, share while they are applied. */
export interface Batch {
  readonly applied: Applied;
  /** Those of `applied`, by reason: one that tells of a version is another for each op. */
  readonly rejections: Map<string, Rejection>;
  readonly surplus: Surplus;
  /** What is left to their edits of texts. */
  readonly work: TextWork;
  /** Numbers from here on were given to nobody. */
  readonly numbersEnd: number;
}

export function newBatch(numbersEnd = Number.POSITIVE_INFINITY): Batch {
  return { applied: nothingApplied(), rejections: new Map(), surplus: { characters: 0 }, work: new TextWork(), numbersEnd };
}

/** Who sent ops. */
export interface Sender {
  /** The number of its connection, which tells new ops from those of an earlier connection. */
  readonly actor: number;
  /** Numbers from here on were given to nobody; absent for ops that we make. */
  readonly numbersEnd?: number;
}

/** Applies what a client sent. */
export function applyOps(storage: Storage, ops: readonly Op[], { actor, numbersEnd }: Sender): Applied {
  const batch = newBatch(numbersEnd);
  const { applied } = batch;
  const prefix = `${actor}:`;
  const made = ops.length > 1 ? new SmallSet<string>() : null;
  for (const op of withoutEchoes(storage.nodes, inOrderMade(ops), batch.work)) {
    const isReplay = op.opId?.startsWith(prefix) === false;
    const verdict = applyOp(storage, op, batch, isReplay ? 'earlier' : 'this');
    if (isReplay && op.type !== OP.UPDATE_TEXT) applied.needsRepair = true;
    if (verdict.is === 'applied' && (isReplay || verdict.revives === true || isOlder(op, prefix)))
      repeatCreate(storage, verdict.op, applied);
    if (made === null || !('parentId' in op)) continue;
    if (verdict.is === 'applied') made.add(op.id);
    else if (verdict.is === 'known') replaceAgain(storage, op, { made, batch });
  }
  return applied;
}

/** An item that this message made anew, and that its client had replaced by one that is here still, goes again. */
function replaceAgain(
  storage: Storage,
  { intent, deletedId }: CreateOp,
  { made, batch }: { readonly made: ReadonlySet<string>; readonly batch: Batch },
): void {
  if (intent === 'set' && deletedId !== undefined && made.has(deletedId))
    applyOp(storage, { type: OP.DELETE_CRDT, id: deletedId }, batch);
}

/** Whether it makes a node that this connection did not make first: that comes back, however long ago it was deleted. */
function isOlder(op: Op, prefix: string): boolean {
  return 'parentId' in op && !op.id.startsWith(prefix);
}

/** Applies one op, made in this session or an earlier one, adds who is told what of it to the batch, and returns what became of it. */
export function applyOp(storage: Storage, op: Op, batch: Batch, session: 'this' | 'earlier' = 'this'): Verdict {
  const { applied } = batch;
  const { surplus, work, numbersEnd } = batch;
  const verdict =
    refusedNumber(storage, op, numbersEnd) ??
    refusedUnfit(storage, op, surplus) ??
    refusedGrowth(storage, op, surplus) ??
    judge(storage, op, { session, surplus, work });
  switch (verdict.is) {
    case 'ignored':
      if (op.opId !== undefined) applied.replies.push({ type: OP.DELETE_CRDT, id: 'ACK', opId: op.opId });
      break;
    case 'known':
      applied.replies.push(verdict.op);
      break;
    case 'applied': {
      // Fixes first: an item that a client has put aside for the set is not found there by the deletion that follows, and its children stay
      // behind as ghosts, for which the client refuses their like when the item comes back.
      const fixes = verdict.fixes ?? [];
      if (verdict.ack === undefined) applied.replies.push(...fixes, verdict.op);
      else applied.replies.push(verdict.ack, ...fixes, withoutOpId(verdict.op));
      applied.forwards.push(...fixes, withoutOpId(verdict.op));
      applied.journal.push(verdict.journal ?? verdict.op);
      break;
    }
    case 'rejected':
      applied.replies.push(...(verdict.takeBack?.replies ?? []));
      reject(batch, op, verdict);
      break;
    default:
      verdict satisfies never;
  }
  return verdict;
}

/** Comes to the state that `ops`, journaled by `applyOps`, led to before. */
export function replayOps(storage: Storage, ops: readonly Op[]): void {
  const within: Circumstances = { session: 'this', surplus: null, work: new TextWork() };
  for (const op of ops) {
    if (op.type === OP.UPDATE_TEXT) replayUpdateText(storage, op);
    else judge(storage, op, within);
  }
}

interface Circumstances extends Within {
  /** Null when the journal is replayed: what was once stored stays readable under any limit. */
  readonly surplus: Surplus | null;
}

/** Applies one op, if it has an effect. */
function judge(storage: Storage, op: Op, within: Circumstances): Verdict {
  switch (op.type) {
    case OP.CREATE_OBJECT:
    case OP.CREATE_LIST:
    case OP.CREATE_MAP:
    case OP.CREATE_REGISTER:
    case OP.CREATE_TEXT:
    case OP.CREATE_FILE:
      return applyCreate(storage, op, within.surplus);
    case OP.SET_PARENT_KEY:
      return applySetParentKey(storage, op, within.surplus);
    case OP.UPDATE_OBJECT:
      return applyUpdateObject(storage, op);
    case OP.DELETE_OBJECT_KEY:
      return applyDeleteObjectKey(storage, op);
    case OP.DELETE_CRDT:
      return applyDeleteCrdt(storage, op);
    case OP.UPDATE_TEXT:
      return applyUpdateText(storage, op, within);
    case OP.UNFIT:
    case OP.UNKNOWN:
      return { is: 'ignored' };
    default:
      return op satisfies never;
  }
}

/**
 * Under an object or map a client swallows the echo of a create that it believes to be here already, so it gets the same once more, as
 * if somebody else had made it (protocol 6.2).
 */
function repeatCreate(storage: Storage, op: Op, applied: Applied): void {
  if ('parentId' in op && storage.nodes.get(op.parentId)?.type !== CRDT.LIST) applied.replies.push(withoutOpId(op));
}

/** A client does not take back what is rejected; the snapshot does. Of a rejected text edit it takes care itself (protocol 5.8). */
function reject({ applied, rejections }: Batch, { type, opId }: Op, { reason, takeBack }: RejectedVerdict): void {
  if (takeBack?.needsState ?? type !== OP.UPDATE_TEXT) applied.needsRepair = true;
  const opIds = opId === undefined ? [] : [opId];
  const same = rejections.get(reason);
  if (same !== undefined) {
    same.opIds.push(...opIds);
    return;
  }
  const rejection = { opIds, reason };
  rejections.set(reason, rejection);
  applied.rejected.push(rejection);
}

function withoutOpId(op: Op): Op {
  if (op.opId === undefined) return op;
  const { opId, ...rest } = op;
  return rest as Op;
}
