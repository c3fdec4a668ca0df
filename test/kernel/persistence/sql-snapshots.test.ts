import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { TRIM_ROWS, TRIM_WITH_SAVE } from '../../../src/kernel/persistence/snapshot-queries.ts';
import type { SnapshotSave } from '../../../src/kernel/persistence/snapshots.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { SqlJournal } from '../../../src/kernel/persistence/sql-journal.ts';
import { INLINE_BYTES_MAX, JOURNAL_BYTES_MAX, SqlSnapshots } from '../../../src/kernel/persistence/sql-snapshots.ts';
import { append } from '../../support/appends.ts';
import { until } from '../../support/e2e/until.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { savesIn } from '../../support/saves.ts';
import { anEntry, aStream, type Meddler, meddled, takeOver, untilBlocked } from '../../support/streams.ts';

const postgres = usePostgres();
let url: string;
let db: PostgresSql;
let journal: SqlJournal;
let blobs: MemoryBlobs;
let snapshots: SqlSnapshots;
let stream: number;

beforeAll(async () => {
  url = await postgres.database();
  db = await postgres.open({ url });
  journal = new SqlJournal({ db, clock: systemClock, log: silentLog });
});
beforeEach(async () => {
  blobs = memoryBlobs();
  snapshots = new SqlSnapshots({ db, blobs, journal, clock: systemClock, log: silentLog });
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

test('[SN6] what goes from the journal with each save is never what a damaged snapshot would need', async () => {
  await appendUpTo(9);
  for (const version of [3, 6, 9]) await saveBig(version);
  expect((await journal.readAfter(stream, 6)).map(({ version }) => version)).toEqual([7, 8, 9]);
  blobs.stored.delete(await keyOf(9));
  expect((await snapshots.load(stream))?.version).toBe(6);
});

test('[JO13] a save takes from the journal what the snapshot before it holds, and nothing newer', async () => {
  const left = async (): Promise<number[]> =>
    (await db.query(sql<{ version: number }>`select version from journal where stream = ${stream} order by version`)).map(
      ({ version }) => version,
    );
  await appendUpTo(6);
  await saveSmall(3);
  expect(await left()).toEqual([1, 2, 3, 4, 5, 6]);
  await saveSmall(5);
  expect(await left()).toEqual([4, 5, 6]);
  expect(await saveSmall(4)).toBe('stale');
  expect(await left()).toEqual([4, 5, 6]);
  await saveBig(6);
  expect(await left()).toEqual([6]);
});

test('[JO13] of a long journal some goes in the same statement, and the rest after it', async () => {
  const entries = TRIM_WITH_SAVE + TRIM_ROWS + 1;
  await db.query(sql`
    insert into journal (stream, version, count, epoch, crc, payload)
    select ${stream}, v, 1, 1, 0, '' from generate_series(1, ${entries}::int) v`);
  const changed: number[] = [];
  const counted = new SqlSnapshots({
    ...{ blobs, journal, clock: systemClock, log: silentLog },
    db: meddled(db, async (query, run) => {
      const rows = await run();
      if (query.text.trim().startsWith('delete')) changed.push(rows.length);
      return rows;
    }),
  });
  const save = (version: number): Promise<string> => counted.save({ stream, epoch: 1, version, bytes: new Uint8Array([1]) });
  await save(entries - 1);
  await save(entries);
  expect(changed).toEqual([TRIM_ROWS, 0]);
  expect(await db.query(sql`select version from journal where stream = ${stream}`)).toEqual([{ version: entries }]);
});

test('[SN23] a journal is trimmed from where the last trimming ended; what one left is trimmed by the next', async () => {
  const write = (from: number, to: number) =>
    db.query(sql`
      insert into journal (stream, version, count, epoch, crc, payload)
      select ${stream}, v, 1, 1, 0, '' from generate_series(${from}::int, ${to}::int) v`);
  const hasty = new SqlSnapshots({
    ...{ blobs, journal, clock: systemClock, log: silentLog },
    db: meddled(db, async (query, run) => (query.text.trim().startsWith('delete') ? [] : run())), // it ends before it trims the rest
  });
  const save = (version: number) => hasty.save({ stream, epoch: 1, version, bytes: new Uint8Array([1]) });
  const state = async () => {
    const [owner] = await db.query(
      sql<{ upTo: number }>`select trimmed_version as "upTo" from actor_owner where stream = ${stream}`,
    );
    const left = await db.query(sql<{ version: number }>`select version from journal where stream = ${stream} order by version`);
    return [owner!.upTo, left.map(({ version }) => version)];
  };
  const last = TRIM_WITH_SAVE + 3;
  await write(1, last);
  for (const version of [last - 1, last]) await save(version);
  expect(await state()).toEqual([TRIM_WITH_SAVE, [last - 2, last - 1, last]]);
  await write(last + 1, last + 1);
  await save(last + 1);
  expect(await state()).toEqual([last, [last + 1]]);
  await write(1, 1); // of which it knows that there is none
  await write(last + 2, last + 2);
  await save(last + 2);
  expect(await state()).toEqual([last + 1, [1, last + 2]]);
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
  for (const version of [2, 4, 6]) await saveBig(version);
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
  expect(await loadAlone()).toBeUndefined(); // the journal is whole still
  await saveBig(2);
  asked = 0;
  await expect(loadAlone()).rejects.toBe(away);
  expect(asked).toBe(1); // it was not asked for the other one too
  blobs.get = get;
  await saveSmall(4);
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
  for (let version = 1; version <= 60; version++) {
    await appendUpTo(version, new Uint8Array(1024 * 1024), version);
    const [journaled] = await db.query(
      sql<{ entries: number }>`select count(*) as entries from journal where stream = ${stream}`,
    );
    longest = Math.max(longest, journaled!.entries);
    await saveBig(version).catch(() => 'failed');
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
    if (query.text.includes('save_snapshots')) await held;
    return run();
  });
  const crowded = new SqlSnapshots({ db: slow, blobs, journal, clock: systemClock, log: silentLog });
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

describe('snapshots that nobody waits for', () => {
  /** So many streams, and snapshots whose time is told by hand and whose statements are counted. */
  async function several(count: number, through: Sql = db) {
    const clock = manualClock();
    const sizes: number[] = [];
    const counted = meddled(through, (query, run) => {
      if (query.text.includes('save_snapshots')) sizes.push(savesIn(query.values).length);
      return run();
    });
    const streams = await Promise.all(Array.from({ length: count }, () => aStream(db)));
    const gathering = new SqlSnapshots({ db: counted, blobs, journal, clock, log: silentLog });
    const save = (one: number, rest: Partial<SnapshotSave> = {}): Promise<string> =>
      gathering.save({ stream: one, epoch: 1, version: 1, bytes: new Uint8Array([one % 256, 1]), mayWait: true, ...rest });
    return { streams, save, sizes, clock };
  }
  const bytesOf = async (one: number): Promise<number[]> => [...(await snapshots.load(one))!.bytes];

  test('[SN18] are saved with those of a tenth of a second, each with its own bytes', async () => {
    const { streams, save, sizes, clock } = await several(3);
    const saves = [save(streams[2]!), save(streams[0]!, { bytes: new Uint8Array() }), save(streams[1]!, { epoch: 2 })];
    clock.advance(99);
    expect(sizes).toEqual([]);
    clock.advance(1);
    expect(await Promise.all(saves)).toEqual(['saved', 'saved', 'stale']);
    expect(sizes).toEqual([3, 1]); // who is stale is tried by itself
    expect(await bytesOf(streams[2]!)).toEqual([streams[2]! % 256, 1]);
    expect(await bytesOf(streams[0]!)).toEqual([]);
    expect(await snapshots.load(streams[1]!)).toBeNull();
  });

  test('[SN18] nor do sixteen wait longer, nor those beside one that somebody waits for', async () => {
    const { streams, save, sizes } = await several(18);
    expect(new Set(await Promise.all(streams.slice(0, 16).map((one) => save(one))))).toEqual(new Set(['saved']));
    expect(await Promise.all([save(streams[16]!), save(streams[17]!, { mayWait: false })])).toEqual(['saved', 'saved']);
    expect(sizes).toEqual([16, 2]);
  });

  test('[SN18] large ones and small ones go together', async () => {
    const { streams, save, sizes } = await several(2);
    const saves = [save(streams[1]!), save(streams[0]!, { bytes: big(1), mayWait: false })];
    expect(await Promise.all(saves)).toEqual(['saved', 'saved']);
    expect(sizes).toEqual([2]);
    expect((await bytesOf(streams[0]!)).length).toBe(INLINE_BYTES_MAX + 1);
    expect(await bytesOf(streams[1]!)).toEqual([streams[1]! % 256, 1]);
  });

  test('[SN2] of several of one room the newest of its owner is saved', async () => {
    const { streams, save } = await several(1);
    const one = streams[0]!;
    const saves = [
      save(one, { version: 2, bytes: new Uint8Array([2]) }),
      save(one, { version: 2, epoch: 0 }),
      save(one, { version: 3, epoch: 0 }),
      save(one, { mayWait: false }),
    ];
    expect(await Promise.all(saves)).toEqual(['saved', 'stale', 'stale', 'stale']);
    expect(await bytesOf(one)).toEqual([2]);
  });

  test('[SN19] one that the server refuses holds up no other', async () => {
    const { streams, save, sizes } = await several(3);
    const [refused, ...others] = streams;
    await db.query(sql`
      insert into snapshots (stream, version, epoch, size, sha256, bytes) values (${refused}, 1, 1, 0, '', '')`);
    const saves = [save(refused!), ...others.map((one) => save(one, { mayWait: false }))];
    expect(await Promise.allSettled(saves)).toMatchObject([
      { reason: { sqlState: '23505' } },
      { value: 'saved' },
      { value: 'saved' },
    ]);
    expect(sizes[0]).toBeGreaterThan(1);
  });

  test('[SN19] one whose room is locked holds up no other, nor who appends to theirs', async () => {
    const { streams, save } = await several(3);
    const [, locked, other] = streams;
    let ofLocked: Promise<string> = Promise.resolve('');
    await db.transaction(async (tx) => {
      await tx.query(sql`select from actor_owner where stream = ${locked} for share`);
      ofLocked = save(locked!);
      expect(await Promise.all([save(streams[0]!), save(other!, { mayWait: false })])).toEqual(['saved', 'saved']);
      await untilBlocked(db);
      expect(await append(journal, anEntry(streams[0]!, 1))).toBe('committed');
      expect(await save(other!, { version: 2, mayWait: false })).toBe('saved');
    });
    expect(await ofLocked).toBe('saved');
  });
});

test('[SN2] a save that waited for an older one is saved, and one that waited for a newer one is stale', async () => {
  for (const [version, outcome] of [
    [5, 'saved'],
    [2, 'stale'],
  ] as const) {
    const one = await aStream(db);
    let saving: Promise<string> = Promise.resolve('');
    await db.transaction(async (tx) => {
      const within = new SqlSnapshots({ db: tx, blobs, journal, clock: systemClock, log: silentLog });
      expect(await within.save({ stream: one, epoch: 1, version: 3, bytes: new Uint8Array([3]) })).toBe('saved');
      saving = snapshots.save({ stream: one, epoch: 1, version, bytes: new Uint8Array([version]) });
      await untilBlocked(db);
    });
    expect(await saving).toBe(outcome);
    const [owner] = await db.query(sql<{ at: number }>`select snapshot_version as at from actor_owner where stream = ${one}`);
    expect(owner!.at).toBe(Math.max(3, version));
    expect((await snapshots.load(one))?.version).toBe(Math.max(3, version));
  }
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
  return new SqlSnapshots({ db: meddled(db, meddler), blobs, journal, clock: systemClock, log: silentLog });
}

test.each([
  ['before it notes the key', /insert into loose_blobs/, 'before', { blobs: 1, loose: 0, versions: [3] }],
  ['before the put', /insert into loose_blobs/, 'after', { blobs: 1, loose: 1, versions: [3] }],
  ['between put and pointer', /save_snapshots/, 'before', { blobs: 2, loose: 1, versions: [3] }],
  ['right after the pointer', /save_snapshots/, 'after', { blobs: 2, loose: 0, versions: [3, 4] }],
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
