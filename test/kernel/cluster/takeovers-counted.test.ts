/** From whom rooms are claimed, and how leases go, as they are counted; against a real Postgres. */
import { expect, onTestFinished, test } from 'vitest';
import { systemRandom } from '../../../src/base/clock.ts';
import { asWorkerAddress } from '../../../src/base/ids.ts';
import { noMetrics } from '../../../src/base/metrics.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { SqlOwnership } from '../../../src/kernel/cluster/sql-ownership.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { claimed } from '../../contract/ownership.contract.ts';
import { until } from '../../support/e2e/until.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream, meddled } from '../../support/streams.ts';

const postgres = usePostgres();

async function aWorker(db: Sql) {
  const counted: string[] = [];
  const clock = manualClock();
  const ownership = await SqlOwnership.register({
    db,
    lease: db,
    clock,
    random: systemRandom,
    log: silentLog,
    metrics: { ...noMetrics, count: (name, value) => void counted.push(`${name} ${value}`) },
    address: asWorkerAddress('test:1'),
    onLapsed: () => undefined,
    onRecalled: () => undefined,
  });
  onTestFinished(() => ownership.retire());
  return { ownership, counted, clock };
}

test('[OW14] a claim is counted by what became of the last owner, and says no more than before', async () => {
  const db = await postgres.open();
  const [first, second] = [await aWorker(db), await aWorker(db)];
  const [released, dead, expired] = [await aStream(db), await aStream(db), await aStream(db)];
  for (const stream of [released, dead, expired]) await claimed(first.ownership, stream);
  expect(Object.keys(await claimed(first.ownership, dead)).sort()).toEqual(['crashes', 'epoch', 'numbersFrom', 'stream']);
  expect(first.counted.map((line) => line.split(' ')[1])).toEqual(['released', 'released', 'released', 'own']);

  const { ownership } = first;
  await db.query(
    sql`update worker_lease set lease_until = clock_timestamp() - interval '1 minute' where incarnation = ${ownership.incarnation}`,
  );
  await claimed(second.ownership, expired);
  await claimed(second.ownership, dead); // by now it is known
  await db.query(sql`update actor_owner set owner = null where stream = ${released}`);
  await claimed(second.ownership, released);
  expect(second.counted).toEqual(['expired', 'dead', 'released'].map((from) => `atrium_takeovers_total ${from}`));
});

test('[OW15] renewals are counted as renewed, failed, and lapsed', async () => {
  let isAway = false;
  const db = meddled(await postgres.open(), (_, run) => (isAway ? Promise.reject(new Error('away')) : run()));
  const { counted, clock, ownership } = await aWorker(db);
  const outcomes = (): string[] => counted.map((line) => line.split(' ')[1]!);
  await clock.advance(1_000);
  await until('it is renewed', () => outcomes().includes('renewed'));
  isAway = true;
  await clock.advance(1_000);
  await until('a renewal has failed', () => outcomes().includes('failed'));
  await clock.advance(4_000);
  await until('it has lapsed', () => outcomes().includes('lapsed'));
  expect(ownership.duty).toBe('stop');
  isAway = false;
});
