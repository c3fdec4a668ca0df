/**
 * Which connection brought back the ops of which former one. What its client sent over the former one may still be on its way then, and is older than
 * what came since: were it heard, it would undo that.
 */
import { putNewest } from '../../base/newest.ts';
import { SmallMap } from '../../base/small.ts';
import type { Op } from '../../protocol/storage-ops.ts';
import { makerOf } from './makers.ts';

/** Of connections before so many others that were brought back it is not known: by then nothing of them is on its way. */
const HEIRS_MAX = 1_000;

/** By the number of the former connection, that of the later one. Oldest first. */
export type Heirs = Map<number, number>;

export function noHeirs(): Heirs {
  return new SmallMap();
}

/** Whether the client of `actor` has brought some of these ops back over a later connection, and says no more over this one. */
export function comeLate(heirs: Heirs, ops: readonly Op[], actor: number): boolean {
  return heirs.size > 0 && ops.some(({ opId }) => (heirs.get(makerOf(opId)) ?? 0) > actor);
}

/** The client of `actor` sends these. */
export function noteHeir(heirs: Heirs, ops: readonly Op[], actor: number): void {
  for (const { opId } of ops) {
    const maker = makerOf(opId);
    if (!(maker < actor) || heirs.get(maker) === actor) continue;
    putNewest(heirs, maker, actor, HEIRS_MAX);
  }
}
