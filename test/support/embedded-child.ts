/**
 * A process with an embedded Postgres, to be killed. Arguments: DATA_DIR, and the directory for what root must put elsewhere. It prints one JSON
 * line `{ "url" }` when ready, or `{ "refused" }`, then `{ "row" }` for each row it has committed, until it is killed or told to stop by the
 * end of its input.
 */
import { startEmbeddedPostgres } from '../../src/adapters/embedded-postgres.ts';
import { openPostgres } from '../../src/adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../../src/base/clock.ts';
import { silentLog } from '../../src/base/observe.ts';
import { StartRefused } from '../../src/base/start-refused.ts';
import { sql } from '../../src/kernel/persistence/sql.ts';

const [dataDir, sharedDir] = process.argv.slice(2) as [string, string];
const print = (line: object): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);

async function run(): Promise<void> {
  let isStopping = false;
  process.stdin.resume().on('end', () => {
    isStopping = true;
  });
  const onExit = (reason: string): void => void print({ ended: reason });
  const postgres = await startEmbeddedPostgres({
    dataDir,
    sharedDir,
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    onExit,
  });
  const db = openPostgres({ url: postgres.url, poolMax: 2, log: silentLog });
  await db.query(sql`create table if not exists kept (row bigint generated always as identity)`);
  print({ url: postgres.url });
  while (!isStopping) {
    const [kept] = await db.query(sql<{ row: number }>`insert into kept default values returning row`);
    print({ row: kept!.row });
  }
  await db.close();
  await postgres.stop();
}

run().catch((error: unknown) => {
  if (!(error instanceof StartRefused)) throw error;
  print({ refused: error.message });
  process.exit(3);
});
