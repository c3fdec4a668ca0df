/** What every journal must do. */
import { describe, expect, test } from 'vitest';
import type { Journal } from '../../src/kernel/persistence/journal.ts';
import { append } from '../support/appends.ts';
import { anEntry } from '../support/streams.ts';

export interface JournalUnderTest {
  readonly journal: Journal;
  /** A new stream, ruled by epoch 1. */
  aStream(): Promise<number>;
  /** Raises the stream's epoch and returns it. */
  takeOver(stream: number): Promise<number>;
}

export function journalContract(name: string, open: () => Promise<JournalUnderTest>): void {
  describe(`journal: ${name}`, () => {
    test('[JO1] entries are read back as they were written, oldest first, from the version asked for', async () => {
      const { journal, aStream } = await open();
      const stream = await aStream();
      const entries = [
        anEntry(stream, 1),
        anEntry(stream, 4, { count: 3, payload: new Uint8Array([0, 1, 255]) }),
        anEntry(stream, 5),
      ];
      for (const entry of entries) expect(await append(journal, entry)).toBe('committed');
      expect((await journal.readAfter(stream, 0)).map(plain)).toEqual(entries.map(plain));
      expect((await journal.readAfter(stream, 1)).map(plain)).toEqual(entries.slice(1).map(plain));
      expect(await journal.readAfter(stream, 5)).toEqual([]);
    });

    test('[JO1] streams do not mix', async () => {
      const { journal, aStream } = await open();
      const [one, other] = [await aStream(), await aStream()];
      await Promise.all([append(journal, anEntry(one, 1)), append(journal, anEntry(other, 1))]);
      expect((await journal.readAfter(one, 0)).map(({ stream }) => stream)).toEqual([one]);
    });

    test('[JO2] an append under an epoch that no longer rules writes nothing', async () => {
      const { journal, aStream, takeOver } = await open();
      const stream = await aStream();
      await append(journal, anEntry(stream, 1));
      const epoch = await takeOver(stream);
      expect(await append(journal, anEntry(stream, 2, { epoch: epoch - 1 }))).toBe('fenced');
      expect(await journal.readAfter(stream, 1)).toEqual([]);
      expect(await append(journal, anEntry(stream, 2, { epoch }))).toBe('committed');
    });

    test('[JO2] nor does one under an epoch that never ruled, or on a stream that is not there', async () => {
      const { journal, aStream } = await open();
      const stream = await aStream();
      expect(await append(journal, anEntry(stream, 1, { epoch: 2 }))).toBe('fenced');
      expect(await append(journal, anEntry(stream + 1_000_000, 1))).toBe('fenced');
      expect(await journal.readAfter(stream, 0)).toEqual([]);
    });

    test('[JO2] one fenced stream does not disturb the others of its batch', async () => {
      const { journal, aStream, takeOver } = await open();
      const [one, other] = [await aStream(), await aStream()];
      await takeOver(one);
      expect(await Promise.all([append(journal, anEntry(one, 1)), append(journal, anEntry(other, 1))])).toEqual([
        'fenced',
        'committed',
      ]);
    });

    test('[JO3] the same entry again is committed, once', async () => {
      const { journal, aStream } = await open();
      const stream = await aStream();
      await append(journal, anEntry(stream, 1));
      expect(await append(journal, anEntry(stream, 1))).toBe('committed');
      expect(await journal.readAfter(stream, 0)).toHaveLength(1);
    });

    test('[JO3] also when the stream was taken over meanwhile: it is durable, and the new owner reads it', async () => {
      const { journal, aStream, takeOver } = await open();
      const stream = await aStream();
      await append(journal, anEntry(stream, 1));
      await takeOver(stream);
      expect(await append(journal, anEntry(stream, 1))).toBe('committed');
    });

    test('[JO3] another entry in the place of one that is there is refused: its actor has left the durable path', async () => {
      const { journal, aStream } = await open();
      const stream = await aStream();
      await append(journal, anEntry(stream, 1));
      expect(await append(journal, anEntry(stream, 1, { payload: new Uint8Array([9]) }))).toBe('fenced');
      expect((await journal.readAfter(stream, 0)).map(plain)).toEqual([plain(anEntry(stream, 1))]);
    });

    test('[JO4] a gap makes the stream unreadable, wherever it is', async () => {
      const { journal, aStream } = await open();
      const stream = await aStream();
      for (const version of [2, 3, 5]) await append(journal, anEntry(stream, version));
      for (const after of [0, 1, 3])
        await expect(journal.readAfter(stream, after)).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
      expect(await journal.readAfter(stream, 4)).toHaveLength(1);
    });

    test('[JO4] a version inside an entry is no gap: the entry comes whole', async () => {
      const { journal, aStream } = await open();
      const stream = await aStream();
      for (const [version, count] of [
        [2, 2],
        [5, 3],
        [6, 1],
      ] as const)
        await append(journal, anEntry(stream, version, { count }));
      expect((await journal.readAfter(stream, 3)).map(({ version }) => version)).toEqual([5, 6]);
      expect((await journal.readAfter(stream, 5)).map(({ version }) => version)).toEqual([6]);
    });

    test('[JO5] a second append of a stream before the first has resolved is a mistake of the caller', async () => {
      const { journal, aStream } = await open();
      const stream = await aStream();
      const first = append(journal, anEntry(stream, 1));
      await expect(append(journal, anEntry(stream, 2))).rejects.toThrow('under way');
      expect(await first).toBe('committed');
    });
  });
}

function plain<T extends { payload: Uint8Array }>(entry: T): object {
  return { ...entry, payload: [...entry.payload] };
}
