/** Snapshots on their way into the database, as the statement carries them. */
import type { Ruled, SnapshotRow } from '../../src/kernel/persistence/snapshot-queries.ts';

export type SavedRow = SnapshotRow & Ruled;

type Column = readonly number[];

/** By the values that travel with it, in the order in which they do. */
export function savesIn(values: readonly unknown[]): SavedRow[] {
  const [streams, epochs, versions, sizes, blobKeys] = values as [Column, Column, Column, Column, readonly (string | null)[]];
  const [digests, bytes, starts] = values.slice(5) as [Uint8Array, Uint8Array, Column];
  return streams.map((stream, at) => {
    const [start, size, blobKey] = [starts[at]! - 1, sizes[at]!, blobKeys[at]!];
    return {
      ...{ stream, version: versions[at]!, epoch: epochs[at]!, size, blobKey },
      sha256: digests.subarray(32 * at, 32 * at + 32),
      bytes: blobKey === null ? bytes.subarray(start, start + size) : null,
    };
  });
}
