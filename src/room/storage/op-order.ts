/**
 * The order in which a client made the ops of one message, as their ids tell it: `actor:number`. Later connections have higher numbers, and so have later ops
 * of one connection.
 *
 * An SDK client sends in that order, but for one case: an op that is answered while its first copy still waits in the client's buffer counts as unanswered
 * again when the buffer leaves, behind what was made since; and in the order of counting all is sent again after a reconnect.
 */
import type { Op } from '../../protocol/storage-ops.ts';
import { makerOf } from './makers.ts';

/** The ops themselves when they are in order, or one says nothing of it. */
export function inOrderMade(ops: readonly Op[]): readonly Op[] {
  for (let at = 1; at < ops.length; at += 1) if (distance(ops[at - 1]!, ops[at]!) < 0) return sorted(ops);
  return ops;
}

function sorted(ops: readonly Op[]): readonly Op[] {
  return ops.every((op) => distance(op, op) === 0) ? [...ops].sort((one, other) => distance(other, one)) : ops;
}

/** Above zero when the other was made later; NaN when that is not known. */
function distance(one: Op, other: Op): number {
  const [oneActor, oneNumber] = partsOf(one);
  const [otherActor, otherNumber] = partsOf(other);
  return otherActor === oneActor ? otherNumber - oneNumber : otherActor - oneActor;
}

function partsOf({ opId = '' }: Op): [actor: number, number: number] {
  return [makerOf(opId), Number.parseInt(opId.slice(opId.indexOf(':') + 1), 10)];
}
