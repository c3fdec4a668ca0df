import type { PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { INLINE_BYTES_MAX, SqlSnapshots } from '../../src/kernel/persistence/sql-snapshots.ts';
import { memoryBlobs } from '../support/memory-blobs.ts';
import { usePostgres } from '../support/postgres.ts';
import { aStream, takeOver } from '../support/streams.ts';
import { snapshotsContract } from './snapshots.contract.ts';

const postgres = usePostgres();
let opened: Promise<PostgresSql> | null = null;

snapshotsContract('Postgres and blobs', async () => {
  opened ??= postgres.open();
  const db = await opened;
  const journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
  return {
    snapshots: new SqlSnapshots({ db, blobs: memoryBlobs(), journal, clock: systemClock, log: silentLog }),
    aStream: () => aStream(db),
    takeOver: (stream) => takeOver(db, stream),
    inlineBytesMax: INLINE_BYTES_MAX,
  };
});
