/** What every store of blobs must do with uploads in parts. */
import { describe, expect, test } from 'vitest';
import { type NamedPart, PART_BYTES_MIN, type PartsUpload } from '../../src/kernel/persistence/blob-parts.ts';
import type { Blobs } from '../../src/kernel/persistence/blobs.ts';
import { aKey, bytesOf, inPieces, MIB, sha256 } from '../support/blob-bodies.ts';

const NO_LIMIT = { bytesMax: Number.POSITIVE_INFINITY };

export function blobPartsContract(name: string, open: () => Promise<Blobs>): void {
  describe(`blobs in parts: ${name}`, () => {
    /** An upload of two parts, 5 MiB and 3 bytes. */
    const begun = async (): Promise<{ blobs: Blobs; upload: PartsUpload; parts: NamedPart[] }> => {
      const blobs = await open();
      const upload = await blobs.parts.start(aKey());
      const first = await blobs.parts.put(upload, 1, { body: bytesOf(PART_BYTES_MIN) });
      const second = await blobs.parts.put(upload, 2, { body: bytesOf(3), size: 3 });
      return { blobs, upload, parts: [first, second] };
    };

    test('[BL8] parts that came in any order, at once and again make one blob in the order of their numbers', async () => {
      const blobs = await open();
      const upload = await blobs.parts.start(aKey());
      const whole = bytesOf(13 * MIB + 1);
      const slices = [whole.subarray(0, 6 * MIB), whole.subarray(6 * MIB, 12 * MIB), whole.subarray(12 * MIB)];
      const put = (number: number, body = slices[number - 1]!): Promise<NamedPart> =>
        blobs.parts.put(upload, number, { body: inPieces(body, 333_333), size: body.length });
      await put(2, bytesOf(10));
      const [third, second, first] = await Promise.all([put(3), put(2), put(1)]);
      expect(third).toEqual({ partNumber: 3, etag: expect.stringMatching(/^[\w-]+$/), size: MIB + 1 });
      const parts = [third, first, { ...second, etag: `"${second.etag}"` }];
      expect(await blobs.parts.complete(upload, parts, NO_LIMIT)).toEqual({ size: whole.length });
      expect(sha256((await blobs.get(upload.key))!)).toBe(sha256(whole));
    });

    test('[BL8] until it is complete there is no blob, and after that no upload', async () => {
      const { blobs, upload, parts } = await begun();
      expect(await blobs.head(upload.key)).toBeNull();
      await blobs.parts.complete(upload, parts, NO_LIMIT);
      expect(await blobs.head(upload.key)).toEqual({ size: PART_BYTES_MIN + 3 });
      await expect(blobs.parts.put(upload, 3, { body: bytesOf(1) })).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
    });

    test('[BL8] an aborted upload leaves nothing; aborting is the same once or twice', async () => {
      const { blobs, upload, parts } = await begun();
      await blobs.parts.abort(upload);
      await blobs.parts.abort(upload);
      await expect(blobs.parts.complete(upload, parts, NO_LIMIT)).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
      await expect(blobs.parts.put(upload, 1, { body: bytesOf(1) })).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
      expect(await blobs.head(upload.key)).toBeNull();
    });

    test.each(['nothing', '../key', 'a b/ü', ''])('[BL8] an upload that was never begun is not found: %j', async (uploadId) => {
      const blobs = await open();
      const upload = { key: aKey(), uploadId };
      const notFound = { code: 'RESOURCE_NOT_FOUND' };
      await expect(blobs.parts.put(upload, 1, { body: bytesOf(1) })).rejects.toMatchObject(notFound);
      await expect(blobs.parts.complete(upload, [{ partNumber: 1, etag: 'a' }], NO_LIMIT)).rejects.toMatchObject(notFound);
      await blobs.parts.abort(upload);
    });

    test('[BL8] nor is one that was begun for another key', async () => {
      const { blobs, upload, parts } = await begun();
      const other = { ...upload, key: aKey() };
      await expect(blobs.parts.put(other, 3, { body: bytesOf(1) })).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
      await blobs.parts.abort(other);
      expect(await blobs.parts.complete(upload, parts, NO_LIMIT)).toEqual({ size: PART_BYTES_MIN + 3 });
    });

    test.each<[string, (parts: NamedPart[]) => NamedPart[], string]>([
      ['none', () => [], 'name a part'],
      ['too few', ([first]) => [first!], 'leaves out part 2'],
      ['too many', (parts) => [...parts, { partNumber: 3, etag: 'a' }], 'part 3, which was not uploaded'],
      ['one twice', ([first, second]) => [first!, second!, second!], 'twice'],
      ['another etag', ([first, second]) => [first!, { ...second!, etag: first!.etag }], 'another etag for part 2'],
    ])('[BL9] parts that are not those uploaded are refused, and nothing is changed: %s', async (_, change, words) => {
      const { blobs, upload, parts } = await begun();
      await expect(blobs.parts.complete(upload, change(parts), NO_LIMIT)).rejects.toMatchObject({
        code: 'UNPROCESSABLE_ENTITY',
        message: expect.stringContaining(words),
      });
      expect(await blobs.parts.complete(upload, parts, NO_LIMIT)).toEqual({ size: PART_BYTES_MIN + 3 });
    });

    test('[BL9] so is another size than announced; with the announced one they are taken', async () => {
      const { blobs, upload, parts } = await begun();
      for (const bytes of [PART_BYTES_MIN + 2, PART_BYTES_MIN + 4])
        await expect(blobs.parts.complete(upload, parts, { ...NO_LIMIT, bytes })).rejects.toMatchObject({
          code: 'UNPROCESSABLE_ENTITY',
          message: expect.stringContaining(`make ${PART_BYTES_MIN + 3} bytes, where ${bytes} were announced`),
        });
      expect(await blobs.parts.complete(upload, parts, { ...NO_LIMIT, bytes: PART_BYTES_MIN + 3 })).toEqual({
        size: PART_BYTES_MIN + 3,
      });
    });

    test('[BL9] so is a small part before the last, and more than was allowed', async () => {
      const { blobs, upload, parts } = await begun();
      const refused = blobs.parts.complete(upload, parts, { bytesMax: PART_BYTES_MIN + 2 });
      await expect(refused).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
      const third = await blobs.parts.put(upload, 3, { body: bytesOf(1) });
      await expect(blobs.parts.complete(upload, [...parts, third], NO_LIMIT)).rejects.toMatchObject({
        code: 'UNPROCESSABLE_ENTITY',
        message: expect.stringContaining(`part 2 of 3 bytes`),
      });
      expect(await blobs.head(upload.key)).toBeNull();
    });

    test.each([0, -1, 1.5, 10_001, Number.NaN])('[BL9] a part has a number from 1 to 10,000, not %d', async (partNumber) => {
      const { blobs, upload } = await begun();
      const put = blobs.parts.put(upload, partNumber, { body: bytesOf(1) });
      await expect(put).rejects.toMatchObject({ code: 'UNPROCESSABLE_ENTITY' });
    });

    test.each([2, 4, 6 * MIB])('[BL9] a part of another size than announced is refused: 3 came where %i were', async (size) => {
      const { blobs, upload, parts } = await begun();
      const put = blobs.parts.put(upload, 3, { body: inPieces(bytesOf(3), 2), size });
      await expect(put).rejects.toMatchObject({ code: 'UNPROCESSABLE_ENTITY' });
      expect(await blobs.parts.complete(upload, parts, NO_LIMIT)).toEqual({ size: PART_BYTES_MIN + 3 });
    });

    test('[BL9] a part whose size is not announced may have 5 MiB', async () => {
      const { blobs, upload } = await begun();
      const body = (size: number): AsyncIterable<Uint8Array> => inPieces(bytesOf(size), 100_000);
      expect(await blobs.parts.put(upload, 3, { body: body(PART_BYTES_MIN) })).toMatchObject({ size: PART_BYTES_MIN });
      await expect(blobs.parts.put(upload, 3, { body: body(PART_BYTES_MIN + 1) })).rejects.toMatchObject({
        code: 'PAYLOAD_TOO_LARGE',
      });
    });

    test.each([3 * MIB, 7 * MIB])('[BL9] a part that breaks off is not there: of %i bytes', async (size) => {
      const { blobs, upload, parts } = await begun();
      async function* broken(): AsyncGenerator<Uint8Array> {
        yield* inPieces(bytesOf(size - MIB), 100_000);
        throw new Error('the client went away');
      }
      await expect(blobs.parts.put(upload, 3, { body: broken(), size })).rejects.toThrow('went away');
      expect(await blobs.parts.complete(upload, parts, NO_LIMIT)).toEqual({ size: PART_BYTES_MIN + 3 });
    });

    test('[BL10] uploads begun before a time are aborted, later ones are not', async () => {
      const { blobs, upload } = await begun();
      await blobs.parts.abortStale({ beforeMs: Date.now() - 3_600_000 });
      await blobs.parts.put(upload, 3, { body: bytesOf(1) });
      expect(await blobs.parts.abortStale({ beforeMs: Date.now() + 3_600_000 })).toBeGreaterThan(0);
      await expect(blobs.parts.put(upload, 3, { body: bytesOf(1) })).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
    });
  });
}
