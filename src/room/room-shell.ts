/** What the parts of a room's actor may ask of it: one object for all of them, where a closure for each would be a kilobyte of every room. */
import type { AppendOutcome, JournalEntry } from '../kernel/persistence/journal.ts';
import type { Gated } from './gate.ts';
import type { RoomGround } from './policy.ts';
import type { Command, RoomState } from './shapes.ts';

export interface RoomShell {
  readonly room: RoomState;
  /** To be read anew each time: the epoch changes when the room is claimed again. */
  readonly ground: RoomGround;
  /** Whether somebody waits for what is not in the journal yet. */
  readonly isAwaited: boolean;
  /** Null while nothing may be appended: then `append` of `pending.ts` is called again. */
  readonly place: Pick<JournalEntry, 'stream' | 'epoch' | 'version'> | null;
  onAppended(entry: JournalEntry, outcome: AppendOutcome): void;
  onNotAppended(error: unknown): void;
  /** The room has another owner. */
  onFenced(): void;
  /** Has the room decide. @throws AppError its refusal */
  act(command: Command): Promise<unknown>;
  /** Runs it once all that is decided so far is in the journal. */
  whenDurable(gated: Gated): void;
  /** Runs what has nobody to throw at. */
  guarded(task: () => void): void;
  /** The same, unless the room is gone by then, or may not write. */
  ifAble(task: () => void): void;
}
