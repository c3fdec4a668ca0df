/**
 * The journal port: what was decided, in order, before anybody is told.
 *
 * One stream per actor, named by its number. An entry holds `count` changes ending at `version`; versions of one
 * stream are gap-free. Bytes are opaque here. Every append is fenced by the epoch under which its actor was
 * claimed: after a takeover the old owner's appends write nothing (design §4; reliability 2.b).
 */

export interface JournalEntry {
  /** Number of the actor whose stream this is. */
  readonly stream: number;
  /** Epoch of the claim under which the changes were decided. */
  readonly epoch: number;
  /** Version after the last change of this entry. */
  readonly version: number;
  /** How many changes the payload holds: versions `version - count + 1` to `version`. */
  readonly count: number;
  readonly payload: Uint8Array;
}

/** `committed`: durable. `fenced`: another epoch rules this stream; nothing of the entry was written. */
export type AppendOutcome = 'committed' | 'fenced';

/** Whoever appends, told once what became of the entry; a promise and its callbacks would be a tenth of what a keystroke allocates. It must not throw. */
export interface Appender {
  appended(entry: JournalEntry, outcome: AppendOutcome): void;
  /** It is not known whether it was written, or, with SERVER_STOPPING, it was not. */
  notAppended(entry: JournalEntry, error: unknown): void;
}

export interface Journal {
  /**
   * Makes the entry durable, and tells the appender when its commit is known, perhaps before this returns. Entries of one stream must be appended in
   * version order, and the next only when the one before is known, unless a new epoch began. While the database is away the appender waits: an unknown
   * outcome is retried with the same rows until it is known, never guessed. What waits is bounded by who
   * appends: here it has been decided, and is lost if it is refused.
   */
  append(entry: JournalEntry, appender: Appender): void;
  /**
   * The entries of a stream whose version is greater than `version`, oldest first. The first may begin before `version`, when a snapshot fell inside
   * it: its first `version - (entry.version - entry.count)` changes are in the snapshot already.
   * @throws AppError ROOM_UNREADABLE on a gap or a wrong checksum.
   */
  readAfter(stream: number, version: number): Promise<JournalEntry[]>;
}
