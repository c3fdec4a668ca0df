/** How much of what was found goes into one answer. Pure. */
import { valueAtKey } from '../../../base/errors.ts';
import type { RoomId } from '../../../base/ids.ts';
import { isStorableText } from '../../../base/text.ts';
import { type Permissions, scopesOf } from '../../../protocol/permissions.ts';
import type { RoomPks } from '../threads/queries.ts';
import { readableBy } from '../threads/rules.ts';

/** Bounds of ours. */
export const ANSWER_LIMITS = {
  /** Threads of a list of changes. */
  changedMax: 1_000,
  foundMax: 100,
} as const;

/** More words make no better search, and each is looked for in every comment of the room. */
const WORDS_MAX = 16;

/** The words of a search; none for a text without any, which all comments have. @throws AppError UNPROCESSABLE_ENTITY naming `text`. */
export function wordsOf(text: string): string[] {
  const words = [...new Set(text.split(/\s+/))].filter((word) => word !== '');
  if (words.length > WORDS_MAX) throw valueAtKey('text', `may have at most ${WORDS_MAX} words`);
  if (!isStorableText(text)) throw valueAtKey('text', 'may not hold U+0000 or half of a surrogate pair');
  return words;
}

/** The number of a room that nobody has made yet: no row has it. */
export const NOT_MADE_PK = 0;

/** A room and what whoever asks may do there. */
export interface VisitedRoom {
  readonly pk: number;
  readonly id: RoomId;
  readonly permissions: Permissions;
}

export function roomPksOf(rooms: readonly VisitedRoom[]): RoomPks {
  const readable = (visibility: 'public' | 'private') =>
    rooms.filter((room) => readableBy(room).includes(visibility)).map(({ pk }) => pk);
  return { public: readable('public'), private: readable('private') };
}

/** What the SDK takes to know which buttons to show. */
export function hintsFor(rooms: readonly VisitedRoom[]): Record<string, string[]> {
  return Object.fromEntries(rooms.map(({ id, permissions }) => [id, scopesOf(permissions)]));
}
