/** The tables that the kernel keeps, as committed. Rows are replaced, never changed, so a reference to a row is what was read of it. */

export interface LeaseRow {
  readonly address: string;
  readonly untilMs: number;
  readonly draining: boolean;
  readonly fencedAtMs: number | null;
  readonly livedOn: boolean;
}

export interface OwnerRow {
  readonly epoch: number;
  readonly owner: string | null;
  readonly numbersNext: number;
  readonly snapshotVersion: number;
  readonly loadingSinceMs: number | null;
  readonly crashes: number;
  readonly crashedAtMs: number | null;
  readonly quarantinedUntilMs: number | null;
}

export interface JournalRow {
  readonly version: number;
  readonly count: number;
  readonly epoch: number;
  readonly crc: number;
  readonly payload: Uint8Array;
}

export interface SnapshotRow {
  readonly version: number;
  readonly epoch: number;
  readonly size: number;
  readonly sha256: Uint8Array;
  readonly bytes: Uint8Array | null;
  readonly blobKey: string | null;
}

interface Recall {
  readonly incarnation: string;
  readonly stream: number;
  readonly epoch: number;
}

/** What the audit hears, at the moment of the commit. */
export interface CommitListener {
  owned(stream: number, row: OwnerRow): void;
  /** `by`: the process whose connection it came over. */
  appended(stream: number, row: JournalRow, by: string): void;
}

export class FakeTables {
  readonly leases = new Map<string, LeaseRow>();
  /** Room id → number. */
  readonly rooms = new Map<string, number>();
  readonly owners = new Map<number, OwnerRow>();
  /** Oldest first. */
  readonly journals = new Map<number, readonly JournalRow[]>();
  readonly snapshots = new Map<number, readonly SnapshotRow[]>();
  /** What was taken from whom, until they have heard of it. */
  recalls: readonly Recall[] = [];
  /** Keys of blobs that nothing refers to. */
  readonly looseBlobs = new Set<string>();
  listener: CommitListener | null = null;
  #roomsMade = 0;

  /** The next number of a room; never handed out twice, as an identity column. */
  nextPk(): number {
    this.#roomsMade += 1;
    return this.#roomsMade;
  }

  addRoom(id: string, pk: number, epoch = 0): void {
    this.rooms.set(id, pk);
    this.owners.set(pk, {
      ...{ epoch, owner: null, numbersNext: 1, snapshotVersion: 0 },
      ...{ loadingSinceMs: null, crashes: 0, crashedAtMs: null, quarantinedUntilMs: null },
    });
  }

  /** With all that hangs on it. */
  removeRoom(id: string, pk: number): void {
    this.rooms.delete(id);
    this.owners.delete(pk);
    this.journals.delete(pk);
    this.snapshots.delete(pk);
  }

  setOwner(stream: number, row: OwnerRow): void {
    this.owners.set(stream, row);
    this.listener?.owned(stream, row);
  }

  journalOf(stream: number): readonly JournalRow[] {
    return this.journals.get(stream) ?? [];
  }

  /** The row of this version; the newest are looked at first. */
  entryAt(stream: number, version: number): JournalRow | undefined {
    const rows = this.journalOf(stream);
    for (let at = rows.length - 1; at >= 0 && rows[at]!.version >= version; at -= 1)
      if (rows[at]!.version === version) return rows[at];
    return undefined;
  }

  append(stream: number, row: JournalRow, by: string): void {
    const rows = this.journalOf(stream);
    const isNewest = rows.length === 0 || rows.at(-1)!.version < row.version;
    const all = [...rows, row];
    this.journals.set(stream, isNewest ? all : all.sort((left, right) => left.version - right.version));
    this.listener?.appended(stream, row, by);
  }

  trim(stream: number, doomed: ReadonlySet<JournalRow>): void {
    const rows = this.journalOf(stream);
    if (rows.length === 0) return; // the room may be gone
    this.journals.set(
      stream,
      rows.filter((row) => !doomed.has(row)),
    );
  }

  snapshotsOf(stream: number): readonly SnapshotRow[] {
    return this.snapshots.get(stream) ?? [];
  }
}
