/** What every store of blobs must do. */
import { describe, expect, test } from 'vitest';
import type { Blobs } from '../../src/kernel/persistence/blobs.ts';
import { aKey, bytesOf, inPieces, MIB, sha256, textOf } from '../support/blob-bodies.ts';

export function blobsContract(name: string, open: () => Promise<Blobs>): void {
  describe(`blobs: ${name}`, () => {
    test.each([0, 1, 100_000, 11 * MIB + 7])('[BL1] bytes are read back as they were put: %i of them', async (size) => {
      const blobs = await open();
      for (const body of [bytesOf(size), inPieces(bytesOf(size), 70_000)]) {
        const key = aKey();
        expect(await blobs.put(key, body)).toEqual({ size, sha256: sha256(bytesOf(size)) });
        expect(Buffer.compare((await blobs.get(key))!, bytesOf(size))).toBe(0);
        expect(await blobs.head(key)).toEqual({ size });
      }
    });

    test.each([1_000, 12 * MIB])('[BL1] a stream that breaks off leaves nothing: after %i bytes', async (size) => {
      const blobs = await open();
      const key = aKey();
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield* inPieces(bytesOf(size), MIB);
        throw new Error('the client went away');
      }
      await expect(blobs.put(key, broken())).rejects.toThrow('went away');
      expect(await blobs.get(key)).toBeNull();
      expect(await blobs.head(key)).toBeNull();
    });

    test('[BL2] a key that was never put is null; deleting is the same once or twice', async () => {
      const blobs = await open();
      const key = aKey();
      expect([await blobs.get(key), await blobs.read(key), await blobs.head(key)]).toEqual([null, null, null]);
      await blobs.put(key, new Uint8Array([1]));
      await blobs.delete(key);
      await blobs.delete(key);
      expect([await blobs.get(key), await blobs.read(key), await blobs.head(key)]).toEqual([null, null, null]);
    });

    test('[BL3] no method takes what is no key', async () => {
      const blobs = await open();
      const terms = { validMs: 1_000, fileName: 'a', mimeType: 'text/plain' };
      for (const ask of ['get', 'read', 'head', 'delete'] as const) {
        await expect(blobs[ask]('a/../b')).rejects.toThrow('not a blob key');
      }
      await expect(blobs.put('a/../b', new Uint8Array())).rejects.toThrow('not a blob key');
      await expect(blobs.presign('a/../b', terms)).rejects.toThrow('not a blob key');
      await expect(blobs.parts.start('a/../b')).rejects.toThrow('not a blob key');
    });

    test.each([10, 6 * MIB])(
      '[BL6] a key is written once: the same %i bytes change nothing, others are refused',
      async (size) => {
        const blobs = await open();
        const key = aKey();
        const first = await blobs.put(key, bytesOf(size));
        expect(await blobs.put(key, bytesOf(size))).toEqual(first);
        expect(await blobs.put(key, inPieces(bytesOf(size), 100_000))).toEqual(first);
        const other = bytesOf(size).fill(1, size - 1);
        for (const body of [other, inPieces(other, 100_000), bytesOf(size + 1)]) {
          await expect(blobs.put(key, body)).rejects.toMatchObject({ code: 'RESOURCE_ALREADY_EXISTS' });
        }
        expect(Buffer.compare((await blobs.get(key))!, bytesOf(size))).toBe(0);
      },
    );

    test('[BL6] of many that put different bytes at once one succeeds, and its bytes stay', async () => {
      const blobs = await open();
      const key = aKey();
      const bodies = [1, 2, 3, 4, 5].map((number) => new Uint8Array(10).fill(number));
      const outcomes = await Promise.allSettled(bodies.map((body) => blobs.put(key, body)));
      const winners = bodies.filter((_, index) => outcomes[index]!.status === 'fulfilled');
      expect(winners).toHaveLength(1);
      expect([...(await blobs.get(key))!]).toEqual([...winners[0]!]);
    });

    test('[BL7] a blob is read whole or in part; a range ends with the blob at the latest', async () => {
      const blobs = await open();
      const key = aKey();
      await blobs.put(key, new TextEncoder().encode('0123456789'));
      const read = async (range?: { start: number; end: number }): Promise<unknown> => {
        const found = await blobs.read(key, range);
        return [found!.size, await textOf(found!.body)];
      };
      expect(await read()).toEqual([10, '0123456789']);
      expect(await read({ start: 2, end: 4 })).toEqual([10, '234']);
      expect(await read({ start: 9, end: 9 })).toEqual([10, '9']);
      expect(await read({ start: 8, end: 100 })).toEqual([10, '89']);
      await expect(blobs.read(key, { start: 10, end: 11 })).rejects.toMatchObject({
        code: 'RANGE_NOT_SATISFIABLE',
        facts: { size: 10 },
      });
    });

    test('[BL7] who stops reading early leaves the store usable', async () => {
      const blobs = await open();
      const key = aKey();
      await blobs.put(key, bytesOf(MIB));
      for (let time = 0; time < 70; time++) {
        for await (const piece of (await blobs.read(key))!.body) {
          expect(piece.length).toBeGreaterThan(0);
          break;
        }
      }
      expect((await blobs.get(key))!.length).toBe(MIB);
    });
  });
}
