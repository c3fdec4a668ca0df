/** What a room's actor is given: the ports it writes and speaks by, and what all rooms of a worker share. */
import type { Background } from '../base/background.ts';
import type { Clock } from '../base/clock.ts';
import type { Metrics } from '../base/metrics.ts';
import type { Log } from '../base/observe.ts';
import type { Loss } from '../kernel/actor/actor.ts';
import type { Ownership } from '../kernel/cluster/ownership.ts';
import type { Journal } from '../kernel/persistence/journal.ts';
import type { Snapshots } from '../kernel/persistence/snapshots.ts';
import type { Beat } from './beat.ts';
import type { DocumentsAhead } from './documents-ahead.ts';
import type { KeepVersion } from './history-keeper.ts';
import type { RoomGround, RoomPolicy } from './policy.ts';
import type { LocalSessions } from './remote-sessions.ts';
import type { RoomWatcher } from './room-watch.ts';
import type { RoomState } from './shapes.ts';
import type { WaitingBytes } from './waiting-bytes.ts';

export interface RoomActorDeps {
  readonly clock: Clock;
  readonly journal: Journal;
  readonly snapshots: Snapshots;
  readonly ownership: Ownership;
  readonly sessions: LocalSessions;
  readonly keepVersion: KeepVersion;
  readonly beat: Beat;
  readonly waiting: WaitingBytes;
  readonly background: Background;
  readonly documents: DocumentsAhead;
  /** Whether this worker's lease holds at this very moment; after a freeze the timers that say so may come late (reliability 2.c, "Reads"). */
  readonly mayAnswer: () => boolean;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly watcher?: RoomWatcher | undefined;
  readonly policy: RoomPolicy;
}

/** A room as it was found, and who hears that it is lost. */
export interface LoadedRoom {
  readonly room: RoomState;
  readonly ground: RoomGround;
  readonly onLost: (loss: Loss) => void;
}
