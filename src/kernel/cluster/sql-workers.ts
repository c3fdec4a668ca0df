/** What the database knows of workers: who holds a lease. Slower than the directory, and right when that is gone. */
import { named, type Sql, sql } from '../persistence/sql.ts';
import type { WorkerEntry } from './directory.ts';

/** The workers whose lease is valid; their load is not known here. @throws AppError DATABASE_UNAVAILABLE */
export async function findLeasedWorkers(db: Sql): Promise<WorkerEntry[]> {
  const query = sql<WorkerEntry>`
    select incarnation, address, draining, 0 as load
      from worker_lease
     where fenced_at is null and lease_until > clock_timestamp()`;
  return db.query(named('workers leased', query));
}
