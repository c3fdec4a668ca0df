import { afterAll } from 'vitest';
import type { PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { SqlOwnership } from '../../src/kernel/cluster/sql-ownership.ts';
import { sql } from '../../src/kernel/persistence/sql.ts';
import { manualClock } from '../support/manual-clock.ts';
import { usePostgres } from '../support/postgres.ts';
import { aStream } from '../support/streams.ts';
import { ownershipContract } from './ownership.contract.ts';

const postgres = usePostgres();
let opened: Promise<PostgresSql> | null = null;
const workers: SqlOwnership[] = [];
afterAll(() => Promise.all(workers.map((worker) => worker.retire())));

ownershipContract('Postgres', async () => {
  opened ??= postgres.open();
  const db = await opened;
  return {
    async aWorker() {
      const deps = {
        db,
        lease: db,
        clock: manualClock(),
        random: systemRandom,
        log: silentLog,
        address: asWorkerAddress('test:1'),
        onLapsed: () => undefined,
        onRecalled: () => undefined,
      };
      const worker = await SqlOwnership.register(deps);
      workers.push(worker);
      return worker;
    },
    aStream: () => aStream(db, { epoch: 0 }),
    expire: async ({ incarnation }) => {
      await db.query(sql`update worker_lease set lease_until = now() - interval '1 minute' where incarnation = ${incarnation}`);
    },
  };
});
