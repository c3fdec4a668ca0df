import type { PostgresSql } from '../../src/adapters/postgres-sql.ts';
import { sql } from '../../src/kernel/persistence/sql.ts';
import { usePostgres } from '../support/postgres.ts';
import { sqlContract } from './sql.contract.ts';

const postgres = usePostgres();
let db: PostgresSql | null = null;

sqlContract('the embedded Postgres', async () => {
  db ??= await postgres.open({ lockMsMax: 100 });
  await db.query(sql`delete from rooms`);
  return db;
});
