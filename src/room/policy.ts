/** What a room's shell goes by, beside its state: from the settings, and from the claim. */
import type { ErrorCode } from '../base/errors.ts';
import type { RoomLimits } from './shapes.ts';

/** An answer can be as large as the room; past this, those that wait for the journal are enough. */
export const GATED_BYTES_MAX = 64 * 1024 * 1024;

/** What the rooms of a worker may have decided that the journal does not have, all together, and what Yjs updates may wait for their documents; past it changes are refused rather than memory lost. */
export const WAITING_BYTES_MAX = 64 * 1024 * 1024;

/** Refusals of a session's message after which the session joins the room anew, wherever that is then; others cost it its socket. */
export const JOIN_ANEW: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['ROOM_MOVED', 'DATABASE_UNAVAILABLE']);

/** When a room writes, sleeps and refuses; from the settings. */
export interface RoomPolicy extends RoomLimits {
  /** Bytes that may wait for the journal before writes are refused. */
  readonly pendingBytesMax: number;
  readonly snapshotAfterChanges: number;
  readonly snapshotAfterBytes: number;
  readonly snapshotEveryMs: number;
  /** The time between two versions of the history that nobody asks for; 0 for none. */
  readonly autoVersionMs: number;
  /** How long a room without sessions stays in memory. */
  readonly idleMs: number;
}

/** Where the room stands in the database. */
export interface RoomGround {
  readonly stream: number;
  readonly epoch: number;
  /** Version of the newest snapshot; 0 when there is none. */
  readonly snapshotVersion: number;
  readonly snapshotBytes: number;
}

/** Hashes of Yjs documents are told this long after a change, so that a burst of typing costs one. */
export const SETTLE_AFTER_MS = 100;
