/**
 * Ids that begin with a number that nobody has been given yet (protocol §5.1: each begins with that of whoever makes it). Whoever is given that number
 * later makes the same ids again, and would be answered that all of it is done already.
 */
import { OP, type Op } from '../../protocol/storage-ops.ts';
import { makerOf } from './makers.ts';
import type { Storage } from './tree.ts';
import type { RejectedVerdict } from './verdict.ts';

/** More numbers than a room gives out between two loads. A node under one that is farther away is in nobody's way. */
const REACH = 1_000_000_000;

const REASON = 'An id may not begin with the number of a connection that there has not been';

/** Why an op may not be applied, or null; numbers from `numbersEnd` on were not given to anybody. What is here already may be said again. */
export function refusedNumber({ nodes }: Storage, op: Op, numbersEnd: number): RejectedVerdict | null {
  if (op.type === OP.UPDATE_TEXT) return isGiven(op.opId, numbersEnd) ? null : { is: 'rejected', reason: REASON }; // when it comes again it is known by that
  if (!('parentId' in op) || isGiven(op.id, numbersEnd) || nodes.has(op.id)) return null;
  return { is: 'rejected', reason: REASON, takeBack: { replies: [op], needsState: true } };
}

/** The first number from `from` on with which no id of a node begins, nor any for long after it: older builds took nodes under numbers yet to come. */
export function numberBehindNodes({ nodes }: Storage, from: number): number {
  const beyond: number[] = [];
  for (const id of nodes.keys()) {
    const number = makerOf(id);
    if (number >= from) beyond.push(number);
  }
  let next = from;
  for (const number of beyond.sort((a, b) => a - b)) if (number < next + REACH) next = number + 1;
  return next;
}

function isGiven(id: string | undefined, numbersEnd: number): boolean {
  return id === undefined || makerOf(id) < numbersEnd;
}
