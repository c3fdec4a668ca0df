/** What every keeper of snapshots must do. */
import { describe, expect, test } from 'vitest';
import type { Snapshots } from '../../src/kernel/persistence/snapshots.ts';

export interface SnapshotsUnderTest {
  readonly snapshots: Snapshots;
  /** A new stream, ruled by epoch 1. */
  aStream(): Promise<number>;
  /** Raises the stream's epoch and returns it. */
  takeOver(stream: number): Promise<number>;
  /** Snapshots above this size are kept elsewhere. */
  readonly inlineBytesMax: number;
}

export function snapshotsContract(name: string, open: () => Promise<SnapshotsUnderTest>): void {
  describe(`snapshots: ${name}`, () => {
    test('[SN1] an actor that never had one has none', async () => {
      const { snapshots, aStream } = await open();
      expect(await snapshots.load(await aStream())).toBeNull();
    });

    test.each([-1, 0, 1])(
      '[SN1] the newest is read back as it was saved, %i bytes from the size that moves it elsewhere',
      async (offset) => {
        const { snapshots, aStream, inlineBytesMax } = await open();
        const stream = await aStream();
        const bytes = new Uint8Array(inlineBytesMax + offset).map((_, index) => index * 7);
        expect(await snapshots.save({ stream, epoch: 1, version: 3, bytes: new Uint8Array([1]) })).toBe('saved');
        expect(await snapshots.save({ stream, epoch: 1, version: 4, bytes })).toBe('saved');
        const loaded = await snapshots.load(stream);
        expect(loaded?.version).toBe(4);
        expect(Buffer.compare(loaded!.bytes, bytes)).toBe(0);
      },
    );

    test('[SN2] an older one that lands last changes nothing', async () => {
      const { snapshots, aStream } = await open();
      const stream = await aStream();
      expect(await snapshots.save({ stream, epoch: 1, version: 9, bytes: new Uint8Array([9]) })).toBe('saved');
      expect(await snapshots.save({ stream, epoch: 1, version: 8, bytes: new Uint8Array([8]) })).toBe('stale');
      expect(plain(await snapshots.load(stream))).toEqual({ version: 9, bytes: [9] });
    });

    test('[SN2] nor does one of an owner that was taken over, even if it is newer', async () => {
      const { snapshots, aStream, takeOver } = await open();
      const stream = await aStream();
      const epoch = await takeOver(stream);
      expect(await snapshots.save({ stream, epoch: epoch - 1, version: 5, bytes: new Uint8Array([5]) })).toBe('stale');
      expect(await snapshots.load(stream)).toBeNull();
      expect(await snapshots.save({ stream, epoch, version: 4, bytes: new Uint8Array([4]) })).toBe('saved');
      expect(plain(await snapshots.load(stream))).toEqual({ version: 4, bytes: [4] });
    });

    test('[SN2] of many that race, the newest stays, whatever order they land in', async () => {
      const { snapshots, aStream } = await open();
      const stream = await aStream();
      const saves = [3, 1, 5, 2, 4].map((version) =>
        snapshots.save({ stream, epoch: 1, version, bytes: new Uint8Array([version]) }),
      );
      await Promise.all(saves);
      expect(plain(await snapshots.load(stream))).toEqual({ version: 5, bytes: [5] });
    });

    test('[SN3] the same save again, after a lost answer, is saved and keeps its bytes', async () => {
      const { snapshots, aStream, inlineBytesMax } = await open();
      const stream = await aStream();
      const save = { stream, epoch: 1, version: 1, bytes: new Uint8Array(inlineBytesMax + 1).fill(7) };
      expect(await snapshots.save(save)).toBe('saved');
      expect(await snapshots.save(save)).toBe('saved');
      expect((await snapshots.load(stream))?.bytes.length).toBe(inlineBytesMax + 1);
    });

    test('[SN4] a stream that is gone takes no snapshot', async () => {
      const { snapshots, aStream } = await open();
      expect(await snapshots.save({ stream: (await aStream()) + 1_000_000, epoch: 1, version: 1, bytes: new Uint8Array() })).toBe(
        'stale',
      );
    });
  });
}

function plain(snapshot: { version: number; bytes: Uint8Array } | null): object | null {
  return snapshot === null ? null : { ...snapshot, bytes: [...snapshot.bytes] };
}
