/** The journal in the fake Postgres: what `journal-queries.ts` says, and mutants of it. */
import { entriesIn } from '../../support/appends.ts';
import { type FakeTransaction, type LockAnswer, lock, ownerKey, type Rows, type Statement } from './statement.ts';
import type { OwnerRow } from './tables.ts';

export function append({ fence: how }: { fence: 'lock' | 'lock or skip' | 'look' }): Statement {
  return function* (tx, values) {
    const { tables } = tx;
    const inserted: object[] = [];
    for (const { stream, ...row } of entriesIn(values).sort((left, right) => left.stream - right.stream)) {
      const isRuled = (owner: OwnerRow): boolean => owner.epoch === row.epoch;
      const seen = tables.owners.get(stream);
      if (seen === undefined || !isRuled(seen)) continue;
      if (how !== 'look') {
        const answer: LockAnswer = yield {
          key: ownerKey(stream),
          strength: 'share',
          onConflict: how === 'lock' ? 'wait' : 'skip',
        };
        if (answer === 'skipped') continue;
        const now = tables.owners.get(stream);
        if (now !== seen && (now === undefined || !isRuled(now))) continue;
      }
      yield* lock(`journal ${stream} ${row.version}`, 'update');
      if (tables.entryAt(stream, row.version) !== undefined) continue;
      tx.atCommit(() => tables.append(stream, row, tx.client));
      inserted.push({ stream });
    }
    return inserted;
  };
}

export function find(tx: FakeTransaction, [streams, versions]: readonly any[]): Rows {
  const { tables } = tx;
  return (streams as number[]).flatMap((stream, index) => {
    const row = tables.owners.get(stream);
    if (row === undefined) return [];
    const { epoch = null, count = null, crc = null } = tables.entryAt(stream, versions[index]) ?? {};
    return [{ stream, ownerEpoch: row.epoch, epoch, count, crc }];
  });
}

export function read(tx: FakeTransaction, [stream, after, limit]: readonly any[]): Rows {
  return tx.tables
    .journalOf(stream)
    .filter(({ version }) => version > after)
    .slice(0, limit)
    .map((row) => ({ ...row }));
}

/** What is left of a long journal after a save. */
export function trim(tx: FakeTransaction, [stream, , , , limit]: readonly any[]): Rows {
  return trimUpTo(tx, { stream, version: tx.tables.snapshotsOf(stream).at(-2)?.version ?? 0, limit });
}

/** What only mutants do: whatever their caller says. */
export function trimBlindly(tx: FakeTransaction, [stream, version]: readonly any[]): Rows {
  return trimUpTo(tx, { stream, version, limit: 10_000 });
}

function trimUpTo(tx: FakeTransaction, { stream, version, limit }: { stream: number; version: number; limit: number }): Rows {
  const { tables } = tx;
  const doomed = new Set(
    tables
      .journalOf(stream)
      .filter((row) => row.version <= version)
      .slice(0, limit),
  );
  tx.atCommit(() => tables.trim(stream, doomed));
  return [...doomed].map(() => ({}));
}
