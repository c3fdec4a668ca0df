/** Snapshots in the fake Postgres: what `snapshot-queries.ts` says, and mutants of it. Nobody sweeps loose blobs here. */
import { type SavedRow, savesIn } from '../../support/saves.ts';
import { type FakeTransaction, lockFitting, ownerKey, type Rows, type Statement } from './statement.ts';
import type { OwnerRow } from './tables.ts';

export function loadSnapshots(tx: FakeTransaction, [stream]: readonly any[]): Rows {
  return [...tx.tables.snapshotsOf(stream)].reverse();
}

/** The mutant that trusts the pointer instead of the versions. */
export function loadSnapshotAtPointer(tx: FakeTransaction, [stream]: readonly any[]): Rows {
  const pointer = tx.tables.owners.get(stream)?.snapshotVersion;
  return tx.tables.snapshotsOf(stream).filter(({ version }) => version === pointer);
}

export function intend(tx: FakeTransaction, [name, stream, epoch, version]: readonly any[]): Rows {
  const { tables } = tx;
  const owner = tables.owners.get(stream);
  if (owner === undefined || owner.epoch !== epoch || owner.snapshotVersion >= version) return [];
  const key = `${name}${tables.looseBlobs.size}`;
  tx.atCommit(() => tables.looseBlobs.add(key));
  return [{ key }];
}

/** What the function of `migrations/0014-save-snapshots.sql` does. With `isGuarded` false it is the mutant with which the last save wins. */
export function saveSnapshots({ isGuarded }: { isGuarded: boolean }): Statement {
  return function* (tx, values) {
    const { tables } = tx;
    const [trimMax, waits] = values.slice(8) as [number, boolean];
    const saved: object[] = [];
    const newest = new Map<number, number>();
    for (const { stream, place, ...row } of inOrder(savesIn(values))) {
      const isOlder = (owner: OwnerRow): boolean =>
        !isGuarded || (owner.epoch === row.epoch && Math.max(owner.snapshotVersion, newest.get(stream) ?? 0) < row.version);
      const owner = { key: ownerKey(stream), onConflict: waits ? 'wait' : 'skip' } as const;
      if ((yield* lockFitting(owner, () => tables.owners.get(stream), isOlder)) === null) continue;
      if (row.blobKey !== null && !tables.looseBlobs.has(row.blobKey)) continue;
      newest.set(stream, row.version);
      const olderVersion = tables.snapshotsOf(stream).at(-1)?.version ?? 0;
      const dropped = new Set(tables.snapshotsOf(stream).filter((one) => one.version < olderVersion));
      const trimmed = new Set(
        tables
          .journalOf(stream)
          .filter(({ version }) => version <= olderVersion)
          .slice(0, trimMax),
      );
      tx.atCommit(() => {
        tables.setOwner(stream, { ...tables.owners.get(stream)!, snapshotVersion: row.version });
        if (row.blobKey !== null) tables.looseBlobs.delete(row.blobKey);
        const kept = tables.snapshotsOf(stream).filter((one) => !dropped.has(one) && one.version !== row.version);
        tables.snapshots.set(
          stream,
          [...kept, row].sort((left, right) => left.version - right.version),
        );
        for (const one of dropped) if (one.blobKey !== null) tables.looseBlobs.add(one.blobKey);
        tables.trim(stream, trimmed);
      });
      saved.push({ place, trimmed: trimmed.size });
    }
    return saved;
  };
}

/** The order in which their owners' rows are locked. */
function inOrder(saves: readonly SavedRow[]): (SavedRow & { place: number })[] {
  return saves
    .map((save, at) => ({ ...save, place: at + 1 }))
    .sort((left, right) => left.stream - right.stream || right.version - left.version);
}

export function findSnapshot(tx: FakeTransaction, [stream, version, sha256]: readonly any[]): Rows {
  const found = tx.tables.snapshotsOf(stream).find((row) => row.version === version);
  return found !== undefined && Buffer.compare(found.sha256, sha256) === 0 ? [{}] : [];
}

export function journalBytes(tx: FakeTransaction, [stream]: readonly any[]): Rows {
  return [{ bytes: tx.tables.journalOf(stream).reduce((sum, { payload }) => sum + payload.length, 0) }];
}
