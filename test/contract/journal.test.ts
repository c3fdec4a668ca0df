import type { PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { usePostgres } from '../support/postgres.ts';
import { aStream, takeOver } from '../support/streams.ts';
import { journalContract } from './journal.contract.ts';

const postgres = usePostgres();
let opened: Promise<PostgresSql> | null = null;

journalContract('Postgres', async () => {
  opened ??= postgres.open();
  const db = await opened;
  return {
    journal: new SqlJournal({ db, clock: systemClock, log: silentLog }),
    aStream: () => aStream(db),
    takeOver: (stream) => takeOver(db, stream),
  };
});
