import { afterAll } from 'vitest';
import type { PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { SqlOwnership } from '../../src/kernel/cluster/sql-ownership.ts';
import { manualClock } from '../support/manual-clock.ts';
import { usePostgres } from '../support/postgres.ts';
import { aStream } from '../support/streams.ts';
import { locksContract } from './locks.contract.ts';

const postgres = usePostgres();
let opened: Promise<PostgresSql> | null = null;
const workers: SqlOwnership[] = [];
afterAll(() => Promise.all(workers.map((worker) => worker.retire())));

locksContract('Postgres', async () => {
  opened ??= postgres.open();
  const pool = await opened;
  return {
    db: pool,
    aStream: () => aStream(pool),
    async aWorker(db) {
      const worker = await SqlOwnership.register({
        db,
        lease: db,
        clock: manualClock(),
        random: systemRandom,
        log: silentLog,
        address: asWorkerAddress('test:1'),
        onLapsed: () => undefined,
        onRecalled: () => undefined,
      });
      workers.push(worker);
      return worker;
    },
  };
});
