/** What every implementation of ownership must do. */
import { describe, expect, test } from 'vitest';
import { type Claim, NUMBERS_PER_CLAIM, type Ownership } from '../../src/kernel/cluster/ownership.ts';

export interface OwnershipUnderTest {
  /** A worker with a lease of its own. */
  aWorker(): Promise<Ownership>;
  /** A new actor, owned by nobody. */
  aStream(): Promise<number>;
  /** Makes the worker's lease run out. */
  expire(worker: Ownership): Promise<void>;
}

export async function claimed(worker: Ownership, stream: number): Promise<Claim> {
  const claim = await worker.claim(stream);
  if ('refused' in claim) throw new Error(`refused: ${claim.refused}`);
  return claim;
}

export function ownershipContract(name: string, open: () => Promise<OwnershipUnderTest>): void {
  describe(`ownership: ${name}`, () => {
    test('[OW1] each claim raises the epoch by one', async () => {
      const { aWorker, aStream } = await open();
      const [worker, stream] = [await aWorker(), await aStream()];
      const first = await claimed(worker, stream);
      expect(first.stream).toBe(stream);
      for (let more = 1; more <= 3; more++) expect((await claimed(worker, stream)).epoch).toBe(first.epoch + more);
    });

    test('[OW2] an actor that is not there is gone; one that a live worker has is owned', async () => {
      const { aWorker, aStream } = await open();
      const [worker, other, stream] = [await aWorker(), await aWorker(), await aStream()];
      expect(await worker.claim(stream + 1_000_000)).toEqual({ refused: 'gone' });
      const { epoch } = await claimed(worker, stream);
      expect(await other.claim(stream)).toMatchObject({ refused: 'owned', by: worker.incarnation, at: 'test:1' });
      expect((await claimed(worker, stream)).epoch).toBe(epoch + 1);
    });

    test('[OW3] what a worker released, anybody may claim', async () => {
      const { aWorker, aStream } = await open();
      const [worker, other, stream] = [await aWorker(), await aWorker(), await aStream()];
      const { epoch, numbersFrom } = await claimed(worker, stream);
      await worker.release({ stream, epoch, numbersNext: numbersFrom });
      expect((await claimed(other, stream)).epoch).toBe(epoch + 1);
    });

    test('[OW3] a release under an older epoch, or by another worker, changes nothing', async () => {
      const { aWorker, aStream } = await open();
      const [worker, other, stream] = [await aWorker(), await aWorker(), await aStream()];
      const { epoch } = await claimed(worker, stream);
      await worker.release({ stream, epoch: epoch - 1, numbersNext: 1 });
      await other.release({ stream, epoch, numbersNext: 1 });
      expect(await other.claim(stream)).toMatchObject({ refused: 'owned' });
    });

    test('[OW4] claims reserve blocks of numbers that never overlap; a release gives back what was not used', async () => {
      const { aWorker, aStream } = await open();
      const [worker, stream] = [await aWorker(), await aStream()];
      const first = await claimed(worker, stream);
      const second = await claimed(worker, stream);
      expect(second.numbersFrom).toBe(first.numbersFrom + NUMBERS_PER_CLAIM);
      await worker.release({ stream, epoch: second.epoch, numbersNext: second.numbersFrom + 7 });
      const third = await claimed(worker, stream);
      expect(third.numbersFrom).toBe(second.numbersFrom + 7);
    });

    test('[OW4] nor does a release hand out numbers again that belong to an earlier claim', async () => {
      const { aWorker, aStream } = await open();
      const [worker, stream] = [await aWorker(), await aStream()];
      await claimed(worker, stream);
      const second = await claimed(worker, stream);
      await worker.release({ stream, epoch: second.epoch, numbersNext: 1 });
      expect((await claimed(worker, stream)).numbersFrom).toBe(second.numbersFrom);
    });

    test('[OW6] the actors of a worker whose lease ran out may be claimed, once it is fenced for good', async () => {
      const { aWorker, aStream, expire } = await open();
      const [worker, other, stream] = [await aWorker(), await aWorker(), await aStream()];
      const { epoch } = await claimed(worker, stream);
      await expire(worker);
      expect((await claimed(other, stream)).epoch).toBe(epoch + 1);
      await expect(worker.claim(await aStream())).rejects.toMatchObject({ code: 'SERVER_STOPPING' });
    });
  });
}
