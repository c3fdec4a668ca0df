/**
 * What the ops of one message have us write beyond what they bring: positions that grow out of long ones beside them, and texts told once more. An op of
 * 85 bytes may come to millions of characters otherwise, and so may each of the 100,000 in a message.
 */
import type { RejectedVerdict } from './verdict.ts';

/**
 * Characters of surplus after which no op of the message may add to it. Clients choose positions that are free as far as they know, so of theirs it is one
 * or two characters for each item that met another's. Larger: each of the 500 messages that a session may send in a second may have us write as much.
 */
export const SURPLUS_CHARACTERS_MAX = 256 * 1024;

/** What each op may add for nothing: it is itself no shorter, and a program that pushes everything at one position should get far. */
const CHARACTERS_FREE = 64;

/** Of one message so far. */
export interface Surplus {
  characters: number;
}

/** Why an op may not add to the surplus, or null. How much it adds is not asked: one position or text at most. */
export function refusedSurplus({ characters }: Surplus): RejectedVerdict | null {
  if (characters <= SURPLUS_CHARACTERS_MAX) return null;
  const reason = `One message may not make us add more than ${SURPLUS_CHARACTERS_MAX} characters of list positions and repeated texts`;
  return { is: 'rejected', reason };
}

export function addSurplus(surplus: Surplus, characters: number): void {
  surplus.characters += Math.max(0, characters - CHARACTERS_FREE);
}
