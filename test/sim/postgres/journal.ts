/** The journal in the fake Postgres: what `journal-queries.ts` says, and mutants of it. */
import { type FakeTransaction, type LockAnswer, lock, ownerKey, type Rows, type Statement } from './statement.ts';
import type { JournalRow, OwnerRow } from './tables.ts';

export function append({ fence: how }: { fence: 'lock' | 'lock or skip' | 'look' }): Statement {
  return function* (tx, [streams, versions, counts, epochs, crcs, starts, sizes, payload]) {
    const { tables } = tx;
    const order = (streams as number[]).map((_, index) => index).sort((left, right) => streams[left] - streams[right]);
    const inserted: object[] = [];
    for (const index of order) {
      const stream: number = streams[index];
      const version: number = versions[index];
      const isRuled = (row: OwnerRow): boolean => row.epoch === epochs[index];
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
      yield* lock(`journal ${stream} ${version}`, 'update');
      if (tables.entryAt(stream, version) !== undefined) continue;
      const bytes = (payload as Uint8Array).subarray(starts[index] - 1, starts[index] - 1 + sizes[index]);
      const row: JournalRow = { version, count: counts[index], epoch: epochs[index], crc: crcs[index], payload: bytes };
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

/** With `keepsOlder` false it is the mutant that trusts its caller. */
export function trim({ keepsOlder }: { keepsOlder: boolean }): Statement {
  return (tx, [stream, , version, , limit]) => {
    const { tables } = tx;
    const older = tables.snapshotsOf(stream).at(-2)?.version;
    if (keepsOlder && older === undefined) return [];
    const upTo = keepsOlder ? Math.min(version, older!) : version;
    const doomed = new Set(
      tables
        .journalOf(stream)
        .filter((row) => row.version <= upTo)
        .slice(0, limit),
    );
    tx.atCommit(() => {
      const rows = tables.journalOf(stream);
      if (rows.length > 0)
        tables.journals.set(
          stream,
          rows.filter((row) => !doomed.has(row)),
        );
    });
    return [...doomed].map(() => ({}));
  };
}
