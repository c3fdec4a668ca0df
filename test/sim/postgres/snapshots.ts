/** Snapshots in the fake Postgres: what `snapshot-queries.ts` says, and mutants of it. Nobody sweeps loose blobs here. */
import { type FakeTransaction, lockFitting, ownerKey, type Rows, type Statement } from './statement.ts';
import type { OwnerRow, SnapshotRow } from './tables.ts';

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

/** With `isGuarded` false it is the mutant with which the last save wins. */
export function saveSnapshot({ isGuarded }: { isGuarded: boolean }): Statement {
  return function* (tx, [blobKey, version, stream, epoch, , , , , , size, sha256, bytes]) {
    const { tables } = tx;
    const seen = tables.snapshotsOf(stream);
    const isKept = blobKey === null || tables.looseBlobs.has(blobKey);
    const isOlder = (row: OwnerRow): boolean => isKept && (!isGuarded || (row.epoch === epoch && row.snapshotVersion < version));
    const row = yield* lockFitting({ key: ownerKey(stream) }, () => tables.owners.get(stream), isOlder);
    if (row === null) return [];
    const saved: SnapshotRow = { version, epoch, size, sha256, bytes, blobKey };
    const newestSeen = seen.at(-1)?.version ?? 0;
    const dropped = new Set(seen.filter((one) => one.version < newestSeen));
    tx.atCommit(() => {
      tables.setOwner(stream, { ...tables.owners.get(stream)!, snapshotVersion: version });
      tables.looseBlobs.delete(blobKey);
      const kept = tables.snapshotsOf(stream).filter((one) => !dropped.has(one) && one.version !== version);
      const all = [...kept, saved].sort((left, right) => left.version - right.version);
      tables.snapshots.set(stream, all);
      for (const one of dropped) if (one.blobKey !== null) tables.looseBlobs.add(one.blobKey);
    });
    return [{}];
  };
}

export function findSnapshot(tx: FakeTransaction, [stream, version, sha256]: readonly any[]): Rows {
  const found = tx.tables.snapshotsOf(stream).find((row) => row.version === version);
  return found !== undefined && Buffer.compare(found.sha256, sha256) === 0 ? [{}] : [];
}

export function journalBytes(tx: FakeTransaction, [stream]: readonly any[]): Rows {
  return [{ bytes: tx.tables.journalOf(stream).reduce((sum, { payload }) => sum + payload.length, 0) }];
}
