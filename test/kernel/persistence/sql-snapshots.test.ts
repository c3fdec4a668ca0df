import { beforeAll, beforeEach, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../../src/kernel/persistence/sql-journal.ts';
import { INLINE_BYTES_MAX, JOURNAL_BYTES_MAX, SqlSnapshots } from '../../../src/kernel/persistence/sql-snapshots.ts';
import { append } from '../../support/appends.ts';
import { until } from '../../support/e2e/until.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { anEntry, aStream, type Meddler, meddled, takeOver } from '../../support/streams.ts';

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

interface Kept {
  readonly version: number;
  readonly blobKey: string | null;
}
const kept = (): Promise<Kept[]> =>
  db.query(sql<Kept>`select version, blob_key as "blobKey" from snapshots where stream = ${stream} order by version`);
const versionsKept = async (): Promise<number[]> => (await kept()).map(({ version }) => version);
const keyOf = async (version: number): Promise<string> => (await kept()).find((row) => row.version === version)!.blobKey!;

interface Loose {
  readonly key: string;
  readonly dueHours: number;
}
/** Blobs of this stream that nothing refers to. */
const loose = (): Promise<Loose[]> =>
  db.query(sql<Loose>`
    select key, round(extract(epoch from due_at - now()) / 3600)::int as "dueHours" from loose_blobs
     where key like ${`v1/snapshots/${stream}/%`} order by key`);

async function appendUpTo(last: number, payload = new Uint8Array(1), from = 1): Promise<void> {
  for (let version = from; version <= last; version++) await append(journal, anEntry(stream, version, { payload }));
}

const away = new AppError('BLOBS_UNAVAILABLE', { reason: 'test' });
function storeGone(): void {
  const fails = (): Promise<never> => Promise.reject(away);
  Object.assign(blobs, { put: fails, get: fails, read: fails });
}

test('[SN5] the current one and the one before are kept, and the blobs of the others are loose at once', async () => {
  for (const version of [2, 4, 6, 8]) await saveBig(version);
  expect(await versionsKept()).toEqual([6, 8]);
  const keys = [...blobs.stored].map(([key, bytes]) => [key, bytes[0]!] as const);
  expect(keys.map(([, version]) => version)).toEqual([2, 4, 6, 8]);
  expect(await loose()).toEqual(
    keys
      .slice(0, 2)
      .map(([key]) => ({ key, dueHours: 0 }))
      .sort((left, right) => (left.key < right.key ? -1 : 1)),
  );
  expect(keys[3]![0]).toMatch(new RegExp(`^v1/snapshots/${stream}/1-8-[0-9a-f]{64}-[0-9a-f-]{36}$`));
});

test('[SN5] a save that comes too late puts no blob', async () => {
  await saveBig(9);
  expect(await saveBig(8)).toBe('stale');
  const epoch = await takeOver(db, stream);
  expect(await snapshots.save({ stream, epoch: epoch - 1, version: 10, bytes: big(10) })).toBe('stale');
  expect(blobs.stored.size).toBe(1);
  expect(await loose()).toEqual([]);
});

test('[SN5] one that came too late during its put leaves a blob that is due after a day', async () => {
  const put = blobs.put;
  blobs.put = async (key, body) => {
    const stored = await put(key, body);
    await takeOver(db, stream);
    return stored;
  };
  expect(await saveBig(9)).toBe('stale');
  expect(await loose()).toEqual([{ key: [...blobs.stored.keys()][0], dueHours: 24 }]);
});

test('[SN6] a damaged newest one is replaced by the one before, when the journal leads on from there', async () => {
  await appendUpTo(6);
  await saveBig(4);
  await saveBig(6);
  const key = await keyOf(6);
  for (const damage of [big(7), new Uint8Array(0), big(6).subarray(1)]) {
    blobs.stored.set(key, damage);
    expect((await snapshots.load(stream))?.version).toBe(4);
  }
  blobs.stored.delete(key);
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
  blobs.stored.delete(await keyOf(9));
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

test('[SN7] a store that is away is an error that says so, not a missing snapshot', async () => {
  await appendUpTo(6);
  for (const version of [2, 4, 6]) {
    await saveBig(version);
    await journal.trim(stream, version);
  }
  storeGone();
  await expect(snapshots.load(stream)).rejects.toBe(away);
});

test('[SN9] a room opens without the store where an inline snapshot or the whole journal leads on', async () => {
  await appendUpTo(6);
  const { get } = blobs;
  let asked = 0;
  const loadAlone = async (): Promise<number | undefined> => {
    blobs.get = () => {
      asked += 1;
      return Promise.reject(away);
    };
    const loaded = await snapshots.load(stream);
    blobs.get = get;
    return loaded?.version;
  };
  await saveBig(1);
  await saveBig(2);
  expect(await loadAlone()).toBeUndefined(); // nothing was trimmed yet
  expect(asked).toBe(1); // it was not asked for the other one too
  await saveSmall(4);
  await journal.trim(stream, 2);
  await saveBig(6);
  expect(await loadAlone()).toBe(4);
});

test('[SN10] without the store a large snapshot waits, until the journal has grown to 8 MiB: then it goes inline', async () => {
  storeGone();
  await appendUpTo(2, new Uint8Array(JOURNAL_BYTES_MAX / 2 - 1));
  await expect(saveBig(2)).rejects.toBe(away);
  expect(await versionsKept()).toEqual([]);
  await appendUpTo(4, new Uint8Array(1), 3);
  expect(await saveBig(4)).toBe('saved');
  expect(await kept()).toEqual([{ version: 4, blobKey: null }]);
  expect((await snapshots.load(stream))?.bytes.length).toBe(INLINE_BYTES_MAX + 1);
});

test('[SN10] so the journal stays bounded however long the store is away, and blobs are used again afterwards', async () => {
  const { put, get, read } = blobs;
  storeGone();
  let longest = 0;
  let savedVersion = 0;
  for (let version = 1; version <= 60; version++) {
    await appendUpTo(version, new Uint8Array(1024 * 1024), version);
    const [journaled] = await db.query(
      sql<{ entries: number }>`select count(*) as entries from journal where stream = ${stream}`,
    );
    longest = Math.max(longest, journaled!.entries);
    const outcome = await saveBig(version).catch(() => 'failed');
    if (outcome !== 'saved') continue;
    if (savedVersion > 0) await journal.trim(stream, savedVersion); // as a room does
    savedVersion = version;
  }
  expect(longest).toBeLessThanOrEqual(10); // MiB
  Object.assign(blobs, { put, get, read });
  expect(await saveBig(61)).toBe('saved');
  expect((await kept()).map(({ blobKey }) => blobKey === null)).toEqual([true, false]);
});

test('[SN10] only one large row is on its way at a time; the others wait for their next turn', async () => {
  const streams = [stream, await aStream(db), await aStream(db)];
  for (const one of streams) await append(journal, anEntry(one, 1, { payload: new Uint8Array(JOURNAL_BYTES_MAX) }));
  storeGone();
  let goOn: () => void = () => undefined;
  const held = new Promise<void>((resolve) => {
    goOn = resolve;
  });
  const slow = meddled(db, async (query, run) => {
    if (query.text.includes('update actor_owner')) await held;
    return run();
  });
  const crowded = new SqlSnapshots({ db: slow, blobs, journal, log: silentLog });
  const save = (one: number): Promise<string> => crowded.save({ stream: one, epoch: 1, version: 1, bytes: big(1) });
  let refused = 0;
  const outcomes = streams.map((one) =>
    save(one).catch(() => {
      refused += 1;
      return 'refused';
    }),
  );
  await until('the others are refused', () => refused === 2);
  goOn();
  expect((await Promise.all(outcomes)).sort()).toEqual(['refused', 'refused', 'saved']);
  expect(await save(streams[2]!)).toBe('saved');
});

test.each<[string, (bytes: Uint8Array) => Uint8Array | null]>([
  ['other bytes', (bytes) => bytes.with(1_000, 1)],
  ['fewer', (bytes) => bytes.subarray(1)],
  ['none', () => null],
])('[SN11] a blob that the store does not give back as it took it is never pointed to: %s', async (_, damage) => {
  await saveBig(3);
  const put = blobs.put;
  blobs.put = async (key, body) => {
    const stored = await put(key, body);
    const damaged = damage(body as Uint8Array);
    if (damaged === null) blobs.stored.delete(key);
    else blobs.stored.set(key, damaged);
    return stored;
  };
  await expect(saveBig(4)).rejects.toMatchObject({ code: 'BLOBS_UNAVAILABLE' });
  expect(await versionsKept()).toEqual([3]);
  expect((await snapshots.load(stream))?.version).toBe(3);
});

/** Snapshots whose worker dies before or after the first statement that this fits. */
function dyingAt(pattern: RegExp, when: 'before' | 'after'): SqlSnapshots {
  let isDead = false;
  const meddler: Meddler = async (query, run) => {
    if (isDead) throw new Error('dead');
    if (!pattern.test(query.text)) return run();
    isDead = true;
    if (when === 'after') await run();
    throw new Error('dead');
  };
  return new SqlSnapshots({ db: meddled(db, meddler), blobs, journal, log: silentLog });
}

test.each([
  ['before it notes the key', /insert into loose_blobs/, 'before', { blobs: 1, loose: 0, versions: [3] }],
  ['before the put', /insert into loose_blobs/, 'after', { blobs: 1, loose: 1, versions: [3] }],
  ['between put and pointer', /update actor_owner/, 'before', { blobs: 2, loose: 1, versions: [3] }],
  ['right after the pointer', /update actor_owner/, 'after', { blobs: 2, loose: 0, versions: [3, 4] }],
] as const)('[SN12] a worker that dies leaves a loose blob at most: %s', async (_, pattern, when, left) => {
  await appendUpTo(4);
  await saveBig(3);
  const dying = dyingAt(pattern, when);
  await expect(dying.save({ stream, epoch: 1, version: 4, bytes: big(4) })).rejects.toThrow('dead');
  expect({ blobs: blobs.stored.size, loose: (await loose()).length, versions: await versionsKept() }).toEqual(left);
  expect((await snapshots.load(stream))?.version).toBe(left.versions.at(-1));
  expect(await saveBig(4)).toBe('saved');
  expect((await snapshots.load(stream))?.version).toBe(4);
});

test('[SN8] deleting the room takes its snapshots along and makes their blobs loose', async () => {
  for (const version of [1, 2, 3]) await saveBig(version);
  await db.query(sql`delete from rooms where pk = ${stream}`);
  expect(await versionsKept()).toEqual([]);
  expect((await loose()).map(({ key }) => key)).toEqual([...blobs.stored.keys()].sort());
});
