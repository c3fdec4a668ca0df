/**
 * What stays of an edit of a text whatever its client hears of while it waits for the answer: so many inserts, and behind the last of them ranges
 * of so many characters at most. Updates of others take no insert away and add none, and make ranges no longer.
 */
import type { TextOperation } from '../../protocol/storage-ops.ts';

/** One number, because a room remembers ten thousand of them; 0 when nothing is known. */
export type Outline = number;

const RANGES_MAX = 2 ** 24;

export function outlineOf(operations: readonly TextOperation[]): Outline {
  let inserts = 0;
  let characters = 0;
  for (const operation of operations) {
    if (operation.type === 'insert') inserts += 1;
    characters = operation.type === 'insert' ? 0 : characters + operation.length;
  }
  return inserts * RANGES_MAX + Math.min(characters, RANGES_MAX - 1);
}

/** How many of `operations` are those of the edit that they begin with: rather a range too many than one that is applied twice. */
export function lengthOf(outline: Outline, operations: readonly TextOperation[]): number {
  let inserts = Math.floor(outline / RANGES_MAX);
  let characters = outline % RANGES_MAX;
  for (const [index, operation] of operations.entries()) {
    if (operation.type === 'insert') inserts -= 1;
    else if (inserts === 0) characters -= operation.length;
    if (inserts < 0 || characters < 0) return index;
  }
  return operations.length;
}
