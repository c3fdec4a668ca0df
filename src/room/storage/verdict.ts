/** What became of one op, before anybody is told: what the rules (`apply-*.ts`) say to the bookkeeping (`apply.ts`). */
import { OP, type Op } from '../../protocol/storage-ops.ts';
import type { ObjectNode } from './nodes.ts';
import { plainValue } from './plain-values.ts';

export type Verdict =
  /** No effect; the sender learns that it was seen. */
  | { readonly is: 'ignored' }
  /** A resent op whose effect is here already; `op` acknowledges it once more. */
  | { readonly is: 'known'; readonly op: Op }
  | AppliedVerdict
  | RejectedVerdict;

export interface RejectedVerdict {
  readonly is: 'rejected';
  readonly reason: string;
  /** What makes its sender take it back; a snapshot does the rest, or without this all of it. */
  readonly takeBack?: { readonly replies: readonly Op[]; readonly needsState: boolean };
}

export interface AppliedVerdict {
  readonly is: 'applied';
  /** The op as it took effect. */
  readonly op: Op;
  /** Changes beyond it, for everybody, to be told before it. */
  readonly fixes?: readonly Op[];
  /** Whether it brought back an id that was deleted. */
  readonly revives?: boolean;
  /** What acknowledges the op to its sender, where that learns of the effect as others do. */
  readonly ack?: Op;
  /** The op with what only we need to know of it. */
  readonly journal?: Op;
}

/** The op with the key it got; the op itself when that is the key it asked for. */
export function withKey<Placed extends Op & { readonly parentKey: string }>(op: Placed, parentKey: string): Placed {
  return op.parentKey === parentKey ? op : { ...op, parentKey };
}

/** What tells a client the plain value of a key, or that there is none. */
export function opThatSays({ id, data }: ObjectNode, key: string): Op {
  const value = plainValue(data, key);
  return value === undefined ? { type: OP.DELETE_OBJECT_KEY, id, key } : { type: OP.UPDATE_OBJECT, id, data: { [key]: value } };
}
