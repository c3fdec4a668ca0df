import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../../src/kernel/persistence/sql-journal.ts';
import { INLINE_BYTES_MAX, SqlSnapshots } from '../../../src/kernel/persistence/sql-snapshots.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { anEntry, aStream } from '../../support/streams.ts';

const postgres = usePostgres();
let db: PostgresSql;
let journal: SqlJournal;
let blobs: MemoryBlobs;
let snapshots: SqlSnapshots;
let stream: number;

beforeAll(async () => {
  db = await postgres.open();
  journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
});
beforeEach(async () => {
  blobs = memoryBlobs();
  snapshots = new SqlSnapshots({ db, blobs, journal, log: silentLog });
  stream = await aStream(db);
});

const big = (version: number): Uint8Array => new Uint8Array(INLINE_BYTES_MAX + 1).fill(version);
const saveBig = (version: number): Promise<string> => snapshots.save({ stream, epoch: 1, version, bytes: big(version) });
const saveSmall = (version: number): Promise<string> =>
  snapshots.save({ stream, epoch: 1, version, bytes: new Uint8Array([version]) });
const versionsKept = async (): Promise<number[]> =>
  (await db.query(sql<{ version: number }>`select version from snapshots where stream = ${stream} order by version`)).map(
    ({ version }) => version,
  );
async function appendUpTo(last: number): Promise<void> {
  for (let version = 1; version <= last; version++) await journal.append(anEntry(stream, version));
}

test('[SN5] the current one and the one before are kept, rows and blobs alike', async () => {
  for (const version of [2, 4, 6, 8]) await saveBig(version);
  expect(await versionsKept()).toEqual([6, 8]);
  expect([...blobs.stored.values()].map((bytes) => bytes[0])).toEqual([6, 8]);
  expect([...blobs.stored.keys()][1]).toMatch(new RegExp(`^v1/snapshots/${stream}/1-8-[0-9a-f]{64}$`));
});

test('[SN5] a save that came too late leaves no blob behind', async () => {
  await saveBig(9);
  expect(await saveBig(8)).toBe('stale');
  expect(blobs.stored.size).toBe(1);
});

test('[SN5] a blob that cannot be deleted does not fail the save that has committed', async () => {
  blobs.delete = async () => {
    throw new Error('the store is away');
  };
  for (const version of [1, 2, 3]) expect(await saveBig(version)).toBe('saved');
  expect(await versionsKept()).toEqual([2, 3]);
});

test('[SN6] a damaged newest one is replaced by the one before, when the journal leads on from there', async () => {
  await appendUpTo(6);
  await saveBig(4);
  await saveBig(6);
  for (const damage of [big(7), new Uint8Array(0), big(6).subarray(1)]) {
    blobs.stored.set([...blobs.stored.keys()][1]!, damage);
    expect((await snapshots.load(stream))?.version).toBe(4);
  }
  blobs.stored.delete([...blobs.stored.keys()][1]!);
  expect((await snapshots.load(stream))?.version).toBe(4);
});

test('[SN6] inline bytes are checked too; with only one snapshot the whole journal stands in', async () => {
  await appendUpTo(3);
  await saveSmall(3);
  await db.query(sql`update snapshots set bytes = '\\x00' where stream = ${stream}`);
  expect(await snapshots.load(stream)).toBeNull();
  expect(await journal.readAfter(stream, 0)).toHaveLength(3);
});

test('[SN6] trimming after each save, as actors do, never takes what a damaged snapshot would need', async () => {
  await appendUpTo(9);
  for (const version of [3, 6, 9]) {
    await saveBig(version);
    await journal.trim(stream, version);
  }
  expect((await journal.readAfter(stream, 6)).map(({ version }) => version)).toEqual([7, 8, 9]);
  blobs.stored.delete([...blobs.stored.keys()][1]!);
  expect((await snapshots.load(stream))?.version).toBe(6);
});

test('[SN7] a damaged snapshot whose place neither an older one nor the journal can take is an error, never an empty start', async () => {
  await appendUpTo(6);
  await saveSmall(4);
  await saveSmall(6);
  await db.query(sql`update snapshots set bytes = '\\x00' where stream = ${stream} and version = 6`);
  expect((await snapshots.load(stream))?.version).toBe(4);
  await db.query(sql`delete from journal where stream = ${stream} and version = 6`);
  await expect(snapshots.load(stream)).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
  await db.query(sql`delete from journal where stream = ${stream}`);
  await expect(snapshots.load(stream)).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
  await db.query(sql`delete from snapshots where stream = ${stream} and version = 4`);
  await expect(snapshots.load(stream)).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
});

test('[SN7] a store that is away is an error, not a missing snapshot', async () => {
  await appendUpTo(1);
  await saveBig(1);
  blobs.get = async () => {
    throw new Error('the store is away');
  };
  await expect(snapshots.load(stream)).rejects.toThrow('away');
});

test('[SN8] deleting the room takes its snapshots along', async () => {
  await saveSmall(1);
  await db.query(sql`delete from rooms where pk = ${stream}`);
  expect(await versionsKept()).toEqual([]);
});
