/** Whom this tab has met in the room, for mentions: a back end of one's own would ask its list of users. */
import { visitorOf } from './visitor.ts';

const MET_MAX = 200;
const met = new Set<string>();

export function meet(userIds: readonly (string | undefined)[]): void {
  for (const userId of userIds) if (userId !== undefined && met.size < MET_MAX) met.add(userId);
}

/** Ids of those whose name has these letters. */
export function metBy(text: string): string[] {
  const letters = text.toLowerCase();
  return [...met].filter((userId) => visitorOf(userId).name.toLowerCase().includes(letters));
}
