import { expect, test } from 'vitest';
import { type BodyPart, PART_BYTES, PartBuffers } from '../../src/adapters/part-buffers.ts';
import { bytesOf, inPieces, MIB, sha256 } from '../support/blob-bodies.ts';

const BUFFERS = 64;
const TWO_PARTS_AND_MORE = bytesOf(2 * PART_BYTES + 1);

test.each([0, 1, PART_BYTES - 1, PART_BYTES, PART_BYTES + 1, 3 * PART_BYTES])(
  '[BL16] a body is cut into parts of 5 MiB, the last one shorter: of %i bytes',
  async (size) => {
    for (const body of [bytesOf(size), inPieces(bytesOf(size), 70_001)]) {
      const parts: Uint8Array[] = [];
      const last: boolean[] = [];
      for await (const { bytes, isLast, release } of new PartBuffers().partsOf(body)) {
        parts.push(Uint8Array.from(bytes));
        last.push(isLast);
        release();
      }
      expect(sha256(Buffer.concat(parts))).toBe(sha256(bytesOf(size)));
      expect(parts.slice(0, -1).every(({ length }) => length === PART_BYTES)).toBe(true);
      expect(last.map((isLast, index) => isLast === (index === last.length - 1))).not.toContain(false);
    }
  },
);

test('[BL16] memory is bounded: who finds no buffer waits for one, and takes its turn', async () => {
  const buffers = new PartBuffers();
  const held: BodyPart[] = [];
  for (let upload = 0; upload < BUFFERS; upload++) {
    const { value } = await buffers.partsOf(inPieces(bytesOf(10), 10)).next();
    held.push(value!);
  }
  let served = 0;
  const waiting = [1, 2].map(async () => {
    const { value } = await buffers.partsOf(inPieces(bytesOf(10), 10)).next();
    served += 1;
    return value!;
  });
  await new Promise(setImmediate);
  expect(served).toBe(0);
  held[0]!.release();
  (await waiting[0]!).release();
  expect((await waiting[1]!).bytes.length).toBe(10);
});

test('[BL16] bodies of several parts do not wait for each other for ever', async () => {
  const buffers = new PartBuffers();
  const upload = async (): Promise<number> => {
    let size = 0;
    for await (const { bytes, release } of buffers.partsOf(inPieces(TWO_PARTS_AND_MORE, MIB))) {
      size += bytes.length;
      setImmediate(release); // sent
    }
    return size;
  };
  const sizes = await Promise.all(Array.from({ length: BUFFERS + 10 }, upload));
  expect(new Set(sizes)).toEqual(new Set([2 * PART_BYTES + 1]));
});

test('[BL16] a body that breaks off, or is not wanted any more, gives its buffers back', async () => {
  const buffers = new PartBuffers();
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield TWO_PARTS_AND_MORE.subarray(0, PART_BYTES + 1);
    throw new Error('gone');
  }
  for (let upload = 0; upload < 2 * BUFFERS; upload++) {
    const reading = (async () => {
      for await (const { release } of buffers.partsOf(broken())) {
        release();
        if (upload % 2 === 0) break;
      }
    })();
    if (upload % 2 === 0) await reading;
    else await expect(reading).rejects.toThrow('gone');
  }
  const { value } = await buffers.partsOf(inPieces(bytesOf(10), 10)).next();
  expect(value?.bytes.length).toBe(10);
});
