/**
 * What the fence of the journal rests on: who waits for whom, and what they find afterwards. Real Postgres and the fake one of the simulation are
 * held to it (reliability 2.b).
 */
import { describe, expect, test } from 'vitest';
import { silentLog } from '../../src/base/observe.ts';
import type { Ownership } from '../../src/kernel/cluster/ownership.ts';
import type { JournalEntry } from '../../src/kernel/persistence/journal.ts';
import { appendQuery, appendWithoutWaitingQuery, entryCrc } from '../../src/kernel/persistence/journal-queries.ts';
import type { Sql } from '../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../src/kernel/persistence/sql-journal.ts';
import { SqlSnapshots } from '../../src/kernel/persistence/sql-snapshots.ts';
import { manualClock } from '../support/manual-clock.ts';
import { memoryBlobs } from '../support/memory-blobs.ts';
import { anEntry } from '../support/streams.ts';

export interface LocksUnderTest {
  readonly db: Sql;
  /** A new actor under epoch 1, owned by nobody. */
  aStream(): Promise<number>;
  /** A worker with a lease of its own, that claims over `db`. */
  aWorker(db: Sql): Promise<Ownership>;
}

const queryFor = (make: typeof appendQuery, ...entries: JournalEntry[]) =>
  make(entries.map((entry) => ({ entry, crc: entryCrc(entry) })));

/** Whether it is still under way after all that is under way had time to go on. */
async function waits(work: Promise<unknown>): Promise<boolean> {
  const late = new Promise<'late'>((resolve) => setTimeout(() => resolve('late'), 100));
  return (await Promise.race([work, late])) === 'late';
}

/** Runs `inside` while a transaction with what `before` did is open, then commits it. */
async function whileOpen<Before>(
  db: Sql,
  before: (tx: Sql) => Promise<Before>,
  inside: (before: Before) => Promise<void>,
): Promise<void> {
  await db.transaction(async (tx) => inside(await before(tx)));
}

export function locksContract(name: string, open: () => Promise<LocksUnderTest>): void {
  describe(`locks: ${name}`, () => {
    test('[SM3] a claim waits for an append on its way, and its owner finds what that wrote', async () => {
      const { db, aStream, aWorker } = await open();
      const [stream, worker] = [await aStream(), await aWorker(db)];
      let claiming: Promise<unknown> = Promise.resolve();
      const append = (tx: Sql) => tx.change(queryFor(appendQuery, anEntry(stream, 1)));
      await whileOpen(db, append, async (written) => {
        expect(written).toBe(1);
        claiming = worker.claim(stream);
        expect(await waits(claiming)).toBe(true);
      });
      expect(await claiming).toMatchObject({ stream, epoch: 2 });
      const journal = new SqlJournal({ db, clock: manualClock(), log: silentLog });
      expect(await journal.readAfter(stream, 0)).toHaveLength(1);
    });

    test('[SM3] an append waits for a claim on its way, and writes nothing', async () => {
      const { db, aStream, aWorker } = await open();
      const stream = await aStream();
      let appending: Promise<unknown> = Promise.resolve();
      const over = switchable(db);
      const worker = await aWorker(over.db);
      const claim = (tx: Sql) => over.within(tx, () => worker.claim(stream));
      await whileOpen(db, claim, async (claimed) => {
        expect(claimed).toMatchObject({ epoch: 2 });
        appending = db.change(queryFor(appendQuery, anEntry(stream, 1)));
        expect(await waits(appending)).toBe(true);
      });
      expect(await appending).toBe(0);
    });

    test('[SM3] a claim that is undone leaves no trace, and the append goes on', async () => {
      const { db, aStream, aWorker } = await open();
      const stream = await aStream();
      const over = switchable(db);
      const worker = await aWorker(over.db);
      let appending: Promise<unknown> = Promise.resolve();
      const undone = db.transaction(async (tx) => {
        await over.within(tx, () => worker.claim(stream));
        appending = db.change(queryFor(appendQuery, anEntry(stream, 1)));
        expect(await waits(appending)).toBe(true);
        throw new Error('undone');
      });
      await expect(undone).rejects.toThrow('undone');
      expect(await appending).toBe(1);
      expect(await worker.claim(stream)).toMatchObject({ epoch: 2 });
    });

    test('[SM3] an append that does not wait leaves out whom it would have to wait for', async () => {
      const { db, aStream, aWorker } = await open();
      const [held, free] = [await aStream(), await aStream()];
      const over = switchable(db);
      const worker = await aWorker(over.db);
      const claim = (tx: Sql) => over.within(tx, () => worker.claim(held));
      await whileOpen(db, claim, async () => {
        const query = queryFor(appendWithoutWaitingQuery, anEntry(held, 1), anEntry(free, 1));
        expect(await db.change(query)).toBe(1);
      });
      const journal = new SqlJournal({ db, clock: manualClock(), log: silentLog });
      expect(await journal.readAfter(free, 0)).toHaveLength(1);
      expect(await journal.readAfter(held, 0)).toEqual([]);
    });

    test('[SM3] whoever waits for a row longer than a second is told to try again', async () => {
      const { db, aStream, aWorker } = await open();
      const stream = await aStream();
      const over = switchable(db);
      const worker = await aWorker(over.db);
      const claim = (tx: Sql) => over.within(tx, () => worker.claim(stream));
      await whileOpen(db, claim, async () => {
        await expect(db.change(queryFor(appendQuery, anEntry(stream, 1)))).rejects.toMatchObject({
          code: 'DATABASE_UNAVAILABLE',
          facts: { sqlState: '55P03' },
        });
      });
    });

    test('[SM3] appends do not wait for each other, except for one of the same version, which then writes nothing', async () => {
      const { db, aStream } = await open();
      const stream = await aStream();
      let again: Promise<unknown> = Promise.resolve();
      const append = (tx: Sql) => tx.change(queryFor(appendQuery, anEntry(stream, 1)));
      await whileOpen(db, append, async () => {
        expect(await db.change(queryFor(appendQuery, anEntry(stream, 2)))).toBe(1);
        again = db.change(queryFor(appendQuery, anEntry(stream, 1)));
        expect(await waits(again)).toBe(true);
      });
      expect(await again).toBe(0);
    });

    test('[SM3] a snapshot waits for a claim on its way, and is stale', async () => {
      const { db, aStream, aWorker } = await open();
      const stream = await aStream();
      const over = switchable(db);
      const worker = await aWorker(over.db);
      const journal = new SqlJournal({ db, clock: manualClock(), log: silentLog });
      const snapshots = new SqlSnapshots({ db, blobs: memoryBlobs(), journal, clock: manualClock(), log: silentLog });
      let saving: Promise<unknown> = Promise.resolve();
      const claim = (tx: Sql) => over.within(tx, () => worker.claim(stream));
      await whileOpen(db, claim, async () => {
        saving = snapshots.save({ stream, epoch: 1, version: 1, bytes: new Uint8Array([1]) });
        expect(await waits(saving)).toBe(true);
      });
      expect(await saving).toBe('stale');
    });
  });
}

/** A database whose statements can be sent into a transaction for a while. */
function switchable(db: Sql) {
  let now = db;
  return {
    db: {
      query: (query) => now.query(query),
      change: (query) => now.change(query),
      transaction: (work) => now.transaction(work),
    } satisfies Sql as Sql,
    async within<Result>(tx: Sql, work: () => Promise<Result>): Promise<Result> {
      now = tx;
      try {
        return await work();
      } finally {
        now = db;
      }
    },
  };
}
