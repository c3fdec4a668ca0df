/**
 * The fake Postgres of the simulation does what the real one does: the same contracts hold for both. What they do not reach, waiting for locks and
 * commits, is here beside answers that a real one gave (reliability 2.b).
 */
import { afterAll } from 'vitest';
import { systemRandom } from '../../src/base/clock.ts';
import { asIncarnation, asWorkerAddress } from '../../src/base/ids.ts';
import { silentLog } from '../../src/base/observe.ts';
import { SqlOwnership } from '../../src/kernel/cluster/sql-ownership.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { INLINE_BYTES_MAX, SqlSnapshots } from '../../src/kernel/persistence/sql-snapshots.ts';
import { journalContract } from '../contract/journal.contract.ts';
import { ownershipContract } from '../contract/ownership.contract.ts';
import { snapshotsContract } from '../contract/snapshots.contract.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryBlobs } from '../support/memory-blobs.ts';
import { FakeSql } from './postgres/fake-sql.ts';
import { PostgresLink } from './postgres/link.ts';
import { FakeServer } from './postgres/server.ts';
import { Process, World } from './world.ts';

/** A fake database whose virtual time passes by itself, as long as anything is due. */
function aDatabase() {
  const world = new World({ seed: 1 });
  const server = new FakeServer(world, { commitMs: () => 1 });
  const process = new Process(world, 'worker');
  const link = new PostgresLink(server, () => 0.1);
  const db = new FakeSql({ link, process, poolMax: 10, answerMsMax: 11_000 });
  let isOver = false;
  const flow = async (): Promise<void> => {
    while (!isOver) await world.run(Number.POSITIVE_INFINITY);
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

ownershipContract('the fake', async () => ({
  aWorker: () =>
    SqlOwnership.register({
      db,
      clock: manualClock(),
      random: systemRandom,
      log: silentLog,
      address: asWorkerAddress('test:1'),
      onLapsed: () => undefined,
      onRecalled: () => undefined,
    }),
  aStream: () => aStream(0),
  async expire({ incarnation }) {
    const lease = tables.leases.get(asIncarnation(incarnation))!;
    tables.leases.set(incarnation, { ...lease, untilMs: world.nowMs - 60_000 });
  },
}));

journalContract('the fake', async () => ({
  journal: new SqlJournal({ db, clock: process.clock, log: silentLog }),
  aStream: () => aStream(1),
  takeOver,
}));

snapshotsContract('the fake', async () => {
  const journal = new SqlJournal({ db, clock: process.clock, log: silentLog });
  return {
    snapshots: new SqlSnapshots({ db, blobs: memoryBlobs(), journal, log: silentLog }),
    aStream: () => aStream(1),
    takeOver,
    inlineBytesMax: INLINE_BYTES_MAX,
  };
});
