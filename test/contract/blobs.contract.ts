/** What every store of blobs must do. */
import { describe, expect, test } from 'vitest';
import type { Blobs } from '../../src/kernel/persistence/blobs.ts';

export function blobsContract(name: string, open: () => Promise<Blobs>): void {
  describe(`blobs: ${name}`, () => {
    test('[BL1] bytes are read back as they were put, none at all included', async () => {
      const blobs = await open();
      const bytes = Uint8Array.from({ length: 100_000 }, (_, index) => index * 13);
      expect(await blobs.put('v1/a/b.bin', bytes)).toEqual({ size: 100_000 });
      expect(Buffer.compare((await blobs.get('v1/a/b.bin'))!, bytes)).toBe(0);
      expect(await blobs.put('empty', new Uint8Array())).toEqual({ size: 0 });
      expect((await blobs.get('empty'))?.length).toBe(0);
    });

    test('[BL1] a stream is put without being held whole', async () => {
      const blobs = await open();
      let isReading = false;
      async function* parts(): AsyncGenerator<Uint8Array> {
        for (let part = 0; part < 5; part++) {
          isReading = true;
          yield new Uint8Array(1_000).fill(part);
        }
      }
      expect(await blobs.put('v1/streamed', parts())).toEqual({ size: 5_000 });
      expect(isReading).toBe(true);
      expect((await blobs.get('v1/streamed'))?.[4_999]).toBe(4);
    });

    test('[BL1] a stream that breaks off leaves nothing', async () => {
      const blobs = await open();
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield new Uint8Array(1_000);
        throw new Error('the client went away');
      }
      await expect(blobs.put('v1/broken', broken())).rejects.toThrow('went away');
      expect(await blobs.get('v1/broken')).toBeNull();
    });

    test('[BL2] a key that was never put is null; deleting is the same once or twice', async () => {
      const blobs = await open();
      expect(await blobs.get('v1/nothing')).toBeNull();
      await blobs.put('v1/once', new Uint8Array([1]));
      await blobs.delete('v1/once');
      await blobs.delete('v1/once');
      expect(await blobs.get('v1/once')).toBeNull();
    });
  });
}
