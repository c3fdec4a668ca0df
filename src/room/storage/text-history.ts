/**
 * The last updates of one text: what came since a version, to transform late updates over, and which updates came already.
 *
 * Bounded twice: in updates, because clients keep as many, and in characters, because one update may be a whole book.
 */
import type { TextOperation } from '../../protocol/storage-ops.ts';
import { RecentIds } from './recent-ids.ts';

/** A client further behind is told to read Storage afresh. SDK clients keep 1,000 themselves (protocol 5.7). */
export const UPDATES_MAX = 1_000;
const CHARACTERS_MAX = 1024 * 1024;

/** What a snapshot keeps: enough for updates that are under way while the room changes its owner. All op ids are kept, to know resent ones. */
const STORED_UPDATES_MAX = 100;
const STORED_CHARACTERS_MAX = 64 * 1024;

/** One update, as it was applied and as its client sent it. */
export interface AppliedUpdate {
  readonly opId?: string | undefined;
  /** The version that its client knew. */
  readonly baseVersion: number;
  readonly operations: readonly TextOperation[];
  /** What the client sent, unless that is what was applied. */
  readonly sent?: readonly TextOperation[] | undefined;
  /** Its number among the edits of all texts since the load; absent when it was there at the load. */
  readonly edit?: number | undefined;
}

export interface Remembered extends AppliedUpdate {
  /** Of its JSON. */
  readonly characters: number;
}

export interface TextHistory {
  readonly opIds: RecentIds;
  /** Of consecutive versions, the last of which is the text's. */
  readonly updates: Remembered[];
  characters: number;
}

/** As JSON, in a snapshot. */
export interface StoredHistory {
  readonly opIds: readonly string[];
  readonly updates: readonly AppliedUpdate[];
}

export function emptyHistory(): TextHistory {
  return { opIds: new RecentIds(UPDATES_MAX), updates: [], characters: 0 };
}

/** Returns what takes it back, when all that was remembered behind it has been taken back. */
export function remember(history: TextHistory, { opId, baseVersion, operations, sent, edit }: AppliedUpdate): () => void {
  const { opIds, updates } = history;
  const newId = opId === undefined || opIds.has(opId) ? null : opId;
  const before = { characters: history.characters, generations: opIds.generations() };
  if (newId !== null) opIds.add(newId);
  const characters = JSON.stringify([operations, sent]).length;
  updates.push({ opId, baseVersion, operations, sent, edit, characters });
  history.characters += characters;
  const forgotten: Remembered[] = [];
  while (updates.length > UPDATES_MAX || history.characters > CHARACTERS_MAX) {
    const oldest = updates.shift()!;
    history.characters -= oldest.characters;
    forgotten.push(oldest);
  }
  return () => {
    updates.unshift(...forgotten); // before the last goes: one that was too long by itself is among them
    updates.pop();
    history.characters = before.characters;
    if (newId !== null) opIds.returnTo(before.generations, newId);
  };
}

/** The updates after `baseVersion` of a text now at `version`, oldest first; null when they are no longer, or not yet, known. */
export function updatesSince({ updates }: TextHistory, baseVersion: number, version: number): readonly AppliedUpdate[] | null {
  const missing = version - baseVersion;
  return missing < 0 || missing > updates.length ? null : updates.slice(updates.length - missing);
}

/** The same as far back as they are known. */
export function latestSince({ updates }: TextHistory, baseVersion: number, version: number): readonly AppliedUpdate[] {
  return updates.slice(Math.max(0, updates.length - Math.max(0, version - baseVersion)));
}

/** The version that a text now at `version` had after the first `edits` of all texts, as far back as its updates are known. */
export function versionAfter({ updates }: TextHistory, edits: number, version: number): number {
  let later = 0;
  while (later < updates.length && (updates[updates.length - 1 - later]!.edit ?? 0) > edits) later += 1;
  return version - later;
}

/** What looking for an update costs by each of them, in runs passed: they are searched, and what is found is moved over them. */
const RUNS_PER_UPDATE = 40;

/** What it costs at most to find out what an edit means among the updates, in runs passed. */
export function priceToFind({ updates }: TextHistory): number {
  return updates.length * RUNS_PER_UPDATE;
}

/** The last update with this op id, and what version it made of a text now at `version`; null when it is no longer known. */
export function updateOf(
  { updates }: TextHistory,
  opId: string,
  version: number,
): { readonly update: Remembered; readonly version: number } | null {
  const index = updates.findLastIndex((update) => update.opId === opId);
  return index < 0 ? null : { update: updates[index]!, version: version - (updates.length - 1 - index) };
}

export function storedHistory({ opIds, updates }: TextHistory): StoredHistory {
  let from = updates.length;
  let characters = 0;
  while (from > 0 && updates.length - from < STORED_UPDATES_MAX) {
    characters += updates[from - 1]!.characters;
    if (characters > STORED_CHARACTERS_MAX) break;
    from -= 1;
  }
  return { opIds: opIds.latest(), updates: updates.slice(from).map(({ characters: _, edit: __, ...update }) => update) };
}

export function loadHistory({ opIds, updates }: StoredHistory): TextHistory {
  const history = { ...emptyHistory(), opIds: new RecentIds(UPDATES_MAX, opIds) };
  for (const update of updates) remember(history, update);
  return history;
}
