/** The fake Postgres of the simulation does what the real one does: the same contracts hold for both. Here its virtual time goes as real time does. */
import { afterAll, expect, test } from 'vitest';
import { readMigrations } from '../../src/adapters/migration-files.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { SqlOwnership } from '../../src/kernel/cluster/sql-ownership.ts';
import type { Sql } from '../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { INLINE_BYTES_MAX, SqlSnapshots } from '../../src/kernel/persistence/sql-snapshots.ts';
import { journalContract } from '../contract/journal.contract.ts';
import { locksContract } from '../contract/locks.contract.ts';
import { ownershipContract } from '../contract/ownership.contract.ts';
import { snapshotsContract } from '../contract/snapshots.contract.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryBlobs } from '../support/memory-blobs.ts';
import { FakeSql } from './postgres/fake-sql.ts';
import { FUNCTIONS, sumOfText } from './postgres/known.ts';
import { PostgresLink } from './postgres/link.ts';
import { FakeServer } from './postgres/server.ts';
import { Process, World } from './world.ts';

function aDatabase() {
  const world = new World({ seed: 1 });
  const server = new FakeServer(world, { commitMs: () => 1 });
  const process = new Process(world, 'worker');
  const link = new PostgresLink(server, () => 0.1);
  const db = new FakeSql({ link, process, poolMax: 10, answerMsMax: 11_000 });
  let isOver = false;
  const flow = async (): Promise<void> => {
    for (let lastMs = performance.now(); !isOver; ) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      const nowMs = performance.now();
      await world.run(nowMs - lastMs);
      lastMs = nowMs;
    }
  };
  const flowing = flow();
  afterAll(() => {
    isOver = true;
    return flowing;
  });
  const { tables } = server;
  const aStream = async (epoch: number): Promise<number> => {
    const pk = tables.nextPk();
    tables.addRoom(`room ${pk}`, pk, epoch);
    return pk;
  };
  const takeOver = async (stream: number): Promise<number> => {
    const row = tables.owners.get(stream)!;
    tables.setOwner(stream, { ...row, epoch: row.epoch + 1 });
    return row.epoch + 1;
  };
  return { world, process, db, tables, aStream, takeOver };
}

const { world, process, db, tables, aStream, takeOver } = aDatabase();

const aWorker = (over: Sql): Promise<SqlOwnership> =>
  SqlOwnership.register({
    db: over,
    lease: over,
    clock: manualClock(),
    random: systemRandom,
    log: silentLog,
    address: asWorkerAddress('test:1'),
    onLapsed: () => undefined,
    onRecalled: () => undefined,
  });

ownershipContract('the fake', async () => ({
  aWorker: () => aWorker(db),
  aStream: () => aStream(0),
  async expire({ incarnation }) {
    const lease = tables.leases.get(incarnation)!;
    tables.leases.set(incarnation, { ...lease, untilMs: world.nowMs - 60_000 });
  },
}));

locksContract('the fake', async () => ({ db, aStream: () => aStream(1), aWorker }));

journalContract('the fake', async () => ({
  journal: new SqlJournal({ db, clock: process.clock, log: silentLog }),
  aStream: () => aStream(1),
  takeOver,
}));

snapshotsContract('the fake', async () => {
  const journal = new SqlJournal({ db, clock: process.clock, log: silentLog });
  return {
    snapshots: new SqlSnapshots({ db, blobs: memoryBlobs(), journal, clock: process.clock, log: silentLog }),
    aStream: () => aStream(1),
    takeOver,
    inlineBytesMax: INLINE_BYTES_MAX,
  };
});

test.each(Object.entries(FUNCTIONS))('[SM3] the function %s is the one that the fake was written after', async (name, sum) => {
  const migrations = await readMigrations();
  const newest = migrations.findLast(({ text }) => new RegExp(`create (or replace )?function ${name}\\b`).test(text));
  expect(sumOfText(newest!.text)).toBe(sum);
});
