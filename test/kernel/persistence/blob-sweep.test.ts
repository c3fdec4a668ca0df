import { beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { BlobSweep } from '../../../src/kernel/persistence/blob-sweep.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../../src/kernel/persistence/sql-journal.ts';
import { INLINE_BYTES_MAX, SqlSnapshots } from '../../../src/kernel/persistence/sql-snapshots.ts';
import { until } from '../../support/e2e/until.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream, meddled } from '../../support/streams.ts';

const postgres = usePostgres();
const clock = manualClock(Date.now());
let db: PostgresSql;
let blobs: MemoryBlobs;
beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(async () => {
  blobs = memoryBlobs();
  await db.query(sql`truncate loose_blobs`);
});

function aSweep(): BlobSweep {
  const sweep = new BlobSweep({ db, blobs, clock, log: silentLog });
  onTestFinished(() => sweep.close());
  return sweep;
}

async function aLooseBlob(key: string, dueInMs: number): Promise<void> {
  await blobs.put(key, new Uint8Array([1]));
  await db.query(sql`insert into loose_blobs (key, due_at) values (${key}, now() + ${dueInMs} * interval '1 millisecond')`);
}
const looseKeys = async (): Promise<string[]> =>
  (await db.query(sql<{ key: string }>`select key from loose_blobs order by key`)).map(({ key }) => key);

test('[BL14] what is loose and due is deleted, from the store and then from the list; what is not yet due is not', async () => {
  await aLooseBlob('v1/due', 0);
  await aLooseBlob('v1/later', 60_000);
  await blobs.put('v1/used', new Uint8Array());
  await aSweep().run();
  expect([...blobs.stored.keys()]).toEqual(['v1/later', 'v1/used']);
  expect(await looseKeys()).toEqual(['v1/later']);
});

test('[BL14] every minute, however many there are', async () => {
  const sweep = aSweep();
  for (let number = 0; number < 250; number++) await aLooseBlob(`v1/${number}`, 0);
  clock.advance(59_999);
  expect(blobs.stored.size).toBe(250);
  clock.advance(1);
  await sweep.run();
  expect([blobs.stored.size, await looseKeys()]).toEqual([0, []]);
});

test('[BL14] what the store does not delete stays on the list, comes again in ten minutes and holds nobody up', async () => {
  const { delete: remove } = blobs;
  blobs.delete = async (key) => {
    if (key === 'v1/stuck') throw new AppError('BLOBS_UNAVAILABLE');
    await remove(key);
  };
  await aLooseBlob('v1/stuck', -1_000);
  for (let number = 0; number < 30; number++) await aLooseBlob(`v1/${number}`, 0);
  const sweep = aSweep();
  await sweep.run();
  expect(await looseKeys()).toContain('v1/stuck');
  const [stuck] = await db.query(sql<{ minutes: number }>`
    select round(extract(epoch from due_at - now()) / 60)::int as minutes from loose_blobs where key = 'v1/stuck'`);
  expect(stuck).toEqual({ minutes: 10 });
  await db.query(sql`update loose_blobs set due_at = now() where key <> 'v1/stuck'`); // their ten minutes are over
  await sweep.run();
  expect(await looseKeys()).toEqual(['v1/stuck']);
});

test('[BL14] while the store is away a sweep gives up after a few, and the next one deletes all', async () => {
  for (let number = 0; number < 50; number++) await aLooseBlob(`v1/${number}`, 0);
  const { delete: remove } = blobs;
  let asked = 0;
  blobs.delete = async () => {
    asked += 1;
    throw new AppError('BLOBS_UNAVAILABLE');
  };
  const sweep = aSweep();
  await sweep.run();
  expect(asked).toBe(10);
  blobs.delete = remove;
  await db.query(sql`update loose_blobs set due_at = now()`);
  await sweep.run();
  expect([blobs.stored.size, await looseKeys()]).toEqual([0, []]);
});

test('[BL14] two sweeps at once take different keys', async () => {
  for (let number = 0; number < 150; number++) await aLooseBlob(`v1/${number}`, 0);
  const { delete: remove } = blobs;
  const deleted: string[] = [];
  blobs.delete = async (key) => {
    deleted.push(key);
    await new Promise(setImmediate);
    await remove(key);
  };
  await Promise.all([aSweep().run(), aSweep().run()]);
  expect([deleted.length, new Set(deleted).size, await looseKeys()]).toEqual([150, 150, []]);
});

test('[BL14] uploads that nobody ended in a week are aborted', async () => {
  aSweep();
  const upload = await blobs.parts.start('v1/upload');
  const put = (): Promise<unknown> => blobs.parts.put(upload, 1, { body: new Uint8Array(1) });
  clock.advance(6 * 24 * 3_600_000);
  await put();
  clock.advance(25 * 3_600_000);
  await until('the upload is aborted', () =>
    put().then(
      () => false,
      (error) => error.code === 'RESOURCE_NOT_FOUND',
    ),
  );
});

/** Large snapshots of a new room; `between` runs after the put and before the pointer. */
async function aSave(between: (stream: number) => Promise<unknown>): Promise<{ stream: number; save: () => Promise<string> }> {
  const stream = await aStream(db);
  const journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
  let isFirst = true; // of the statements: who is stale is tried by itself
  const held = meddled(db, async (query, run) => {
    const isSave = query.text.includes('save_snapshots');
    if (isSave && isFirst) {
      isFirst = false;
      await between(stream);
    }
    return run();
  });
  const snapshots = new SqlSnapshots({ db: held, blobs, journal, clock: systemClock, log: silentLog });
  const bytes = new Uint8Array(INLINE_BYTES_MAX + 1);
  return { stream, save: () => snapshots.save({ stream, epoch: 1, version: 1, bytes }) };
}

const pointsTo = async (stream: number): Promise<string[]> =>
  (await db.query(sql<{ key: string }>`select blob_key as key from snapshots where stream = ${stream}`)).map(({ key }) => key);

test('[BL15] a blob that a sweep has taken is never pointed to: a save that slept for a day finds itself late', async () => {
  const { stream, save } = await aSave(async () => {
    await db.query(sql`update loose_blobs set due_at = now()`);
    await aSweep().run();
  });
  expect(await save()).toBe('stale');
  expect([blobs.stored.size, await pointsTo(stream)]).toEqual([0, []]);
});

test('[BL15] nor one that a sweep is just deleting', async () => {
  let goOn: () => void = () => undefined;
  const { delete: remove } = blobs;
  blobs.delete = async (key) => {
    await new Promise<void>((resolve) => {
      goOn = resolve;
    });
    await remove(key);
  };
  let sweeping: Promise<void> = Promise.resolve();
  const { stream, save } = await aSave(async () => {
    await db.query(sql`update loose_blobs set due_at = now()`);
    const [before] = await looseKeys();
    sweeping = aSweep().run();
    await until(
      'the sweep is deleting',
      async () => (await db.query(sql`select 1 from loose_blobs where key = ${before} and doomed`)).length > 0,
    );
  });
  expect(await save()).toBe('stale');
  expect(await pointsTo(stream)).toEqual([]);
  goOn();
  await sweeping;
  expect([blobs.stored.size, await looseKeys()]).toEqual([0, []]);
});

test('[BL15] nor one that a sweep takes in the same moment: the save waits for it to commit', async () => {
  let commit: () => void = () => undefined;
  const mayCommit = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let dooming: Promise<void> = Promise.resolve();
  const { stream, save } = await aSave(async () => {
    await new Promise<void>((resolve) => {
      dooming = db.transaction(async (tx) => {
        await tx.query(sql`update loose_blobs set doomed = true`);
        resolve();
        await mayCommit;
      });
    });
  });
  const saving = save();
  const waiting = sql`select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like '%save_snapshots%'`;
  await until('the save waits', async () => (await db.query(waiting)).length > 0);
  commit();
  await dooming;
  expect([await saving, await pointsTo(stream)]).toEqual(['stale', []]);
});

test('[BL15] in any order of saves and sweeps, what is pointed to is there', async () => {
  const isOver = { value: false };
  const sweeper = aSweep();
  const sweeping = (async () => {
    while (!isOver.value) {
      await db.query(sql`
        update loose_blobs set due_at = now() where key in (select key from loose_blobs where not doomed for update skip locked)`);
      await sweeper.run();
    }
  })();
  const journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
  const snapshots = new SqlSnapshots({ db, blobs, journal, clock: systemClock, log: silentLog });
  const outcomes: string[] = [];
  const wasEarlier = (): boolean => outcomes.some((outcome) => outcome !== 'saved'); // the sweep, than a save
  const rooms = await Promise.all(Array.from({ length: 4 }, () => aStream(db)));
  await Promise.all(
    rooms.map(async (stream) => {
      for (let version = 1; version <= 40 || (version <= 400 && !wasEarlier()); version++) {
        const bytes = new Uint8Array(INLINE_BYTES_MAX + 1).fill(version);
        outcomes.push(await snapshots.save({ stream, epoch: 1, version, bytes }).catch(() => 'failed'));
        for (const key of await pointsTo(stream)) expect(blobs.stored.has(key)).toBe(true);
      }
    }),
  );
  isOver.value = true;
  await sweeping;
  expect(new Set(outcomes)).toContain('saved');
  expect(wasEarlier()).toBe(true);
  for (const stream of rooms) for (const key of await pointsTo(stream)) expect(blobs.stored.has(key)).toBe(true);
});
