/**
 * The snapshot port: the whole state of one actor as of one version, so that recovery reads a short journal.
 *
 * Snapshots are immutable and replace only older ones of the same or an earlier epoch: an old save that lands last changes
 * nothing (house 3.6: the dullest rule matters most). Small ones live inline in the database, larger ones as blobs.
 */

export interface Snapshot {
  readonly version: number;
  readonly bytes: Uint8Array;
}

export interface SnapshotSave extends Snapshot {
  readonly stream: number;
  readonly epoch: number;
  /** Whether nobody waits for it, so that it may wait a moment for others that are then saved with it. */
  readonly mayWait?: boolean;
}

export interface Snapshots {
  /**
   * The newest readable snapshot, or null when the journal alone tells everything: for an actor that never had one.
   * @throws AppError ROOM_UNREADABLE when it is damaged and neither the one before nor the journal can stand in.
   */
  load(stream: number): Promise<Snapshot | null>;
  /**
   * Resolves `saved` once the pointer is committed, `stale` when the epoch moved on or a newer snapshot is there. What the older one of two snapshots
   * holds goes from the journal with it, or with the next.
   * @throws AppError ROOM_OVERLOADED when too many wait; nothing was done then.
   */
  save(snapshot: SnapshotSave): Promise<'saved' | 'stale'>;
}
