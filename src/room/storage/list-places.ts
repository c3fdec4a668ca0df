/** Where in a list an item goes (protocol §5.5), and how long the position may be that says so. */
import { type ListNode, positionsOf } from './nodes.ts';
import { asPos, makePosition } from './positions.ts';
import { addSurplus, refusedSurplus, type Surplus } from './surplus.ts';
import type { RejectedVerdict } from './verdict.ts';

/**
 * Longest position of a new or moved item. The SDK's grow by a character with some seven items that are each put right before the last, or ninety
 * put first: this takes 100,000 such in one place, whose positions alone are 800 MB. Longer than 16,383, and V8 tells keys of one length apart
 * by comparing them.
 */
export const POSITION_LENGTH_MAX = 16_000;

interface Wanted {
  readonly parentKey: string;
  readonly intent?: 'set' | 'push' | undefined;
}

/** The position at which the list takes the item, or why it does not. A set takes one that is held. Replays are not bounded: they have no surplus. */
export function placeIn(list: ListNode, { parentKey, intent }: Wanted, surplus: Surplus | null): string | RejectedVerdict {
  const wanted = asPos(parentKey);
  const inTheWay = intent === 'set' ? undefined : beforeIt(list, wanted, intent);
  if (surplus === null) return inTheWay === undefined ? wanted : rightAfter(list, inTheWay);
  if (inTheWay === undefined) return isTooLong(list, wanted) ? TOO_LONG : wanted;
  const refusal = refusedSurplus(surplus);
  if (refusal !== null) return refusal;
  const key = rightAfter(list, inTheWay);
  addSurplus(surplus, key.length - parentKey.length);
  return isTooLong(list, key) ? TOO_LONG : key;
}

function rightAfter(list: ListNode, position: string): string {
  return makePosition(position, positionsOf(list).after(position));
}

/** The position right after which the item must go instead of where it wants to; undefined when it may go there. */
function beforeIt(list: ListNode, wanted: string, intent: 'push' | undefined): string | undefined {
  if (intent === undefined) return list.children.has(wanted) ? wanted : undefined;
  const last = positionsOf(list).last();
  return last !== undefined && wanted <= last ? last : undefined;
}

/** One that is held already stays good for whatever replaces its item. */
function isTooLong({ children }: ListNode, key: string): boolean {
  return key.length > POSITION_LENGTH_MAX && !children.has(key);
}

const TOO_LONG: RejectedVerdict = {
  is: 'rejected',
  reason: `A position in a list may not be longer than ${POSITION_LENGTH_MAX} characters`,
};
