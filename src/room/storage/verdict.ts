/** What became of one op, before anybody is told: what the rules (`apply-*.ts`) say to the bookkeeping (`apply.ts`). */
import type { Op } from '../../protocol/storage-ops.ts';

export type Verdict =
  /** No effect; the sender learns that it was seen. */
  | { readonly is: 'ignored' }
  /** A resent op whose effect is here already; `op` acknowledges it once more. */
  | { readonly is: 'known'; readonly op: Op }
  /**
   * `op` as it took effect; `fixes` are changes beyond it, for everybody, to be told before it; `revives`: it brought back an id that was deleted; `journal`: the op
   * with what only we need to know of it.
   */
  | { readonly is: 'applied'; readonly op: Op; readonly fixes?: readonly Op[]; readonly revives?: boolean; readonly journal?: Op }
  | { readonly is: 'rejected'; readonly reason: string };

/** The op with the key it got; the op itself when that is the key it asked for. */
export function withKey<Placed extends Op & { readonly parentKey: string }>(op: Placed, parentKey: string): Placed {
  return op.parentKey === parentKey ? op : { ...op, parentKey };
}
