import { beforeEach, describe, expect, test } from 'vitest';
import { isoFromMs, systemClock } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { asRoomId, asRoomPk, type RoomPk } from '../../../src/base/ids.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { deleteRoom } from '../../../src/features/rooms/queries.ts';
import {
  deleteVersion,
  keepVersion,
  listVersions,
  listVersionsSince,
  readVersion,
  VersionReads,
} from '../../../src/features/versions/queries.ts';
import { BlobSweep } from '../../../src/kernel/persistence/blob-sweep.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { INLINE_BYTES_MAX } from '../../../src/kernel/persistence/sql-snapshots.ts';
import { changesSince } from '../../../src/protocol/paging.ts';
import type { KeptVersion } from '../../../src/room/history-keeper.ts';
import { findRoomRef } from '../../../src/room/room-row.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream, takeOver } from '../../support/streams.ts';

const db: Sql = await usePostgres().open();
let blobs: MemoryBlobs;
let roomPk: RoomPk;

beforeEach(async () => {
  blobs = memoryBlobs();
  roomPk = asRoomPk(await aStream(db));
});

const store = () => ({ db, blobs, log: silentLog });
const SMALL = Uint8Array.of(1, 2, 3);
const BIG = new Uint8Array(INLINE_BYTES_MAX + 1).fill(7);
const aVersion = (over: Partial<KeptVersion> = {}): KeptVersion => ({
  stream: roomPk,
  epoch: 1,
  id: 'vh_a',
  atMs: Date.parse('2031-02-03T04:05:06.007Z'),
  authors: ['mia', 'tom'],
  body: SMALL,
  ...over,
});
const keep = (over: Partial<KeptVersion> = {}) => keepVersion(aVersion(over), store());
const read = (id = 'vh_a', reads = new VersionReads()) => readVersion({ ...store(), reads }, { roomPk, id });
const list = () => listVersions(db, { roomPk, after: null, limit: 100 });
const ids = async () => (await list()).map(({ id }) => id);
/** Blobs of this room that nothing refers to, and how soon they may go. */
const loose = () =>
  db.query(sql<{ key: string; isDue: boolean }>`
    select key, due_at <= now() as "isDue" from loose_blobs where key like ${`v1/versions/${roomPk}/%`} order by key`);
const keys = () => [...blobs.stored.keys()];

describe('keeping', () => {
  test.each([-1, 0, 1])(
    '[VH24] a body is read back as it was, %i bytes from the size that moves it to a blob',
    async (offset) => {
      const body = new Uint8Array(INLINE_BYTES_MAX + offset).map((_, index) => index * 7);
      expect(await keep({ body })).toBe('kept');
      expect(Buffer.compare(await read(), body)).toBe(0);
      expect(keys()).toHaveLength(offset > 0 ? 1 : 0);
      expect(await loose()).toEqual([]);
      expect(await list()).toEqual([
        { pk: expect.any(Number), id: 'vh_a', createdAt: '2031-02-03T04:05:06.007Z', authors: ['mia', 'tom'] },
      ]);
    },
  );

  test.each([
    ['small', SMALL],
    ['large', BIG],
  ])('[VH25] an owner that was taken over keeps nothing, %s', async (_, body) => {
    await takeOver(db, roomPk);
    expect(await keep({ body })).toBe('fenced');
    expect([await ids(), keys(), await loose()]).toEqual([[], [], []]);
  });

  test('[VH25] nor one that is taken over while the blob is put: that is loose, due after a day', async () => {
    const { put } = blobs;
    blobs.put = async (key, body) => {
      await takeOver(db, roomPk);
      return put(key, body);
    };
    expect(await keep({ body: BIG })).toBe('fenced');
    expect([await ids(), await loose()]).toEqual([[], [{ key: keys()[0], isDue: false }]]);
  });

  test.each([
    ['small', SMALL],
    ['large', BIG],
  ])('[VH26] the same version again is found, and stays the first, %s', async (_, body) => {
    await keep({ body });
    const before = await list();
    expect(await keep({ body, atMs: 1, authors: ['else'] })).toBe('found');
    expect(await list()).toEqual(before);
    const spare = keys().slice(1);
    expect(await loose()).toEqual(spare.map((key) => ({ key, isDue: false })));
    expect(Buffer.compare(await read(), body)).toBe(0);
  });

  test('[VH26] of many that keep one id at the same time one is told that it did, the others that it was there', async () => {
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => keep({ body: BIG })));
    expect(outcomes.sort()).toEqual([...Array(7).fill('found'), 'kept']);
    expect(await ids()).toEqual(['vh_a']);
    expect(keys().length - (await loose()).length).toBe(1);
  });

  test('[VH26] two rooms may have versions of one id', async () => {
    const other = await aStream(db);
    for (const stream of [roomPk, other]) expect(await keep({ stream, body: Uint8Array.of(stream % 256) })).toBe('kept');
    expect([...(await read())]).toEqual([roomPk % 256]);
  });

  test('[VH27] when the store of blobs is away, or gives other bytes than it took, nothing is kept', async () => {
    const { put, read: readBlob } = blobs;
    blobs.put = () => Promise.reject(new AppError('BLOBS_UNAVAILABLE'));
    await expect(keep({ body: BIG })).rejects.toMatchObject({ code: 'BLOBS_UNAVAILABLE' });
    blobs.put = put;
    blobs.read = async (key) => {
      blobs.stored.get(key)![5] = 0;
      return readBlob(key);
    };
    await expect(keep({ body: BIG.slice() })).rejects.toMatchObject({ code: 'BLOBS_UNAVAILABLE' });
    expect(await ids()).toEqual([]);
    expect((await loose()).map(({ isDue }) => isDue)).toEqual([false, false]);
  });
});

describe('reading', () => {
  test('[VH28] what is not there, or was deleted, is 404; once', async () => {
    await keep();
    await expect(read('vh_b')).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
    expect(await deleteVersion(db, { roomPk, id: 'vh_a' })).toBe(true);
    expect(await deleteVersion(db, { roomPk, id: 'vh_a' })).toBe(false);
    await expect(read()).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
  });

  test('[VH28] one that is deleted while it is read is 404', async () => {
    await keep({ body: BIG });
    const { get } = blobs;
    blobs.get = async (key) => {
      await deleteVersion(db, { roomPk, id: 'vh_a' });
      blobs.stored.delete(key);
      return get(key);
    };
    await expect(read()).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
  });

  test.each(['missing', 'changed', 'cut'])('[VH29] a blob that is %s is not handed out', async (what) => {
    await keep({ body: BIG });
    const [key = ''] = keys();
    if (what === 'missing') blobs.stored.delete(key);
    else blobs.stored.set(key, what === 'cut' ? BIG.subarray(1) : BIG.map(() => 8));
    await expect(read()).rejects.toMatchObject({ code: 'ROOM_UNREADABLE', message: expect.stringContaining('vh_a is damaged') });
  });

  test('[VH29] a small body that is changed is not handed out', async () => {
    await keep();
    await db.query(sql`update versions set bytes = ${Uint8Array.of(1, 2, 4)} where room_pk = ${roomPk}`);
    await expect(read()).rejects.toMatchObject({ code: 'ROOM_UNREADABLE' });
  });

  test('[VH28] a room that is not there has no versions', async () => {
    await expect(findRoomRef(db, asRoomId('no such room'))).rejects.toMatchObject({ code: 'ROOM_NOT_FOUND' });
  });
});

describe('lists', () => {
  test('[VH30] are newest first, those of one moment the later kept first, in pages that lose and repeat nothing', async () => {
    const atMs = (n: number): number => 1_000_000 + 10 * Math.floor(n / 3);
    for (let n = 0; n < 8; n += 1) await keep({ id: `vh_${n}`, atMs: atMs(n) });
    const all = await ids();
    expect(all).toEqual([7, 6, 5, 4, 3, 2, 1, 0].map((n) => `vh_${n}`));
    const found: string[] = [];
    let after = null;
    for (;;) {
      const page = await listVersions(db, { roomPk, after, limit: 3 });
      if (page.length === 0) break;
      found.push(...page.map(({ id }) => id));
      const last = page.at(-1)!;
      after = { atMs: Date.parse(last.createdAt), pk: last.pk };
      await keep({ id: `vh_later${found.length}`, atMs: 2_000_000 });
    }
    expect(found).toEqual(all);
  });

  test('[VH31] since a time have what was kept after it, whenever it was taken, and do not repeat what is a minute older', async () => {
    for (const id of ['vh_old', 'vh_new']) await keep({ id, atMs: 5_000 });
    await db.query(
      sql`update versions set stored_at = stored_at - interval '100 seconds' where room_pk = ${roomPk} and id = 'vh_old'`,
    );
    const since = async (secondsAgo: number) =>
      (await listVersionsSince(db, { roomPk, sinceMs: changesSince(isoFromMs(systemClock.nowMs() - secondsAgo * 1_000)) })).map(
        ({ id }) => id,
      );
    expect(await since(30)).toEqual(['vh_new']);
    expect(await since(-30)).toEqual(['vh_new']); // our clock may be ahead of the database's
    expect(await since(50)).toEqual(['vh_new', 'vh_old']);
    expect(await since(-70)).toEqual([]);
    expect(await since(1e9)).toEqual(['vh_new', 'vh_old']);
  });
});

describe('the end', () => {
  test('[VH32] the blob of a deleted version is loose at once, and then gone', async () => {
    await keep({ id: 'vh_a', body: BIG });
    await keep({ id: 'vh_b', body: BIG });
    const [first, second] = keys();
    await deleteVersion(db, { roomPk, id: 'vh_a' });
    expect(await loose()).toEqual([{ key: first, isDue: true }]);
    const sweep = new BlobSweep({ db, blobs, clock: systemClock, log: silentLog });
    await sweep.run();
    await sweep.close();
    expect([keys(), await loose()]).toEqual([[second], []]);
  });

  test('[VH32] a deleted room takes all its versions with it, also one that is on its way', async () => {
    await keep({ id: 'vh_a', body: BIG });
    await keep({ id: 'vh_b' });
    const { put } = blobs;
    blobs.put = async (key, body) => {
      await deleteRoom(db, asRoomId((await db.query(sql<{ id: string }>`select id from rooms where pk = ${roomPk}`))[0]!.id));
      return put(key, body);
    };
    expect(await keep({ id: 'vh_c', body: BIG })).toBe('fenced');
    expect(await ids()).toEqual([]);
    expect((await loose()).map(({ isDue }) => isDue).sort()).toEqual([false, true]);
  });
});

test('[VH36] who reads a version has the bytes of those who read it already, as long as it is there', async () => {
  await keep({ body: BIG });
  await keep({ id: 'vh_b', body: new Uint8Array(INLINE_BYTES_MAX + 2).fill(8) });
  const { get } = blobs;
  let loads = 0;
  blobs.get = (key) => {
    loads += 1;
    return get(key);
  };
  const reads = new VersionReads();
  const together = await Promise.all(Array.from({ length: 5 }, () => read('vh_a', reads)));
  const later = await read('vh_a', reads);
  expect([loads, new Set([...together, later].map(({ buffer }) => buffer)).size]).toEqual([1, 1]);
  expect(Buffer.compare(later, BIG)).toBe(0);
  expect((await read('vh_b', reads))[0]).toBe(8);
  await deleteVersion(db, { roomPk, id: 'vh_a' });
  await expect(read('vh_a', reads)).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
  blobs.get = async () => Promise.reject(new Error('away'));
  await expect(read('vh_b', new VersionReads())).rejects.toThrow('away');
  expect(together).toHaveLength(5);
});
