/** Entries on their way into the journal: asked for and awaited, and as the statements carry them. */
import type { AppendOutcome, Journal, JournalEntry } from '../../src/kernel/persistence/journal.ts';

/** What becomes of the entry, as a promise. */
export function append(journal: Pick<Journal, 'append'>, entry: JournalEntry): Promise<AppendOutcome> {
  return new Promise((resolve, reject) =>
    journal.append(entry, { appended: (_, outcome) => resolve(outcome), notAppended: (_, error) => reject(error) }),
  );
}

type Column = readonly number[];

/** What a statement says, by the values that travel with it: for several entries columns, for one alone its own; in the order in which they travel. */
export function entriesIn(values: readonly unknown[]): (JournalEntry & { crc: number })[] {
  if (!Array.isArray(values[0])) {
    const [stream, version, count, epoch, crc, payload] = values as [number, number, number, number, number, Uint8Array];
    return [{ stream, version, count, epoch, crc, payload }];
  }
  const [streams, versions, counts, epochs, crcs, starts, sizes] = values as Column[];
  const payloads = values[7] as Uint8Array;
  return streams!.map((stream, at) => ({
    stream,
    version: versions![at]!,
    count: counts![at]!,
    epoch: epochs![at]!,
    crc: crcs![at]!,
    payload: payloads.subarray(starts![at]! - 1, starts![at]! - 1 + sizes![at]!),
  }));
}
