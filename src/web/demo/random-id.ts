/** Ids that nobody else makes at the same time. Made of random bytes: `crypto.randomUUID` is missing where a page came over plain HTTP from another machine. */

/** Letters and digits that are not mistaken for each other. */
const DIGITS = 'abcdefghijkmnpqrstuvwxyz23456789';

/** Five bits a digit. */
export function randomId(length: number): string {
  return [...crypto.getRandomValues(new Uint8Array(length))].map((die) => DIGITS[die % DIGITS.length]).join('');
}
