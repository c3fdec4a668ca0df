import { beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import type { NamedPart } from '../../../src/kernel/persistence/blob-parts.ts';
import { sql } from '../../../src/kernel/persistence/sql.ts';
import type { Sweep } from '../../../src/kernel/persistence/sweep.ts';
import type { UploadPlace } from '../../../src/kernel/persistence/upload-queries.ts';
import { sweepUploads } from '../../../src/kernel/persistence/upload-sweep.ts';
import {
  abandonUpload,
  beginUpload,
  completeUpload,
  putPart,
  type UploadsDeps,
} from '../../../src/kernel/persistence/uploads.ts';
import { bytesOf, inPieces, MIB } from '../../support/blob-bodies.ts';
import { until } from '../../support/e2e/until.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream } from '../../support/streams.ts';

const postgres = usePostgres();
const clock = manualClock(Date.now());
const BLOB_BYTES_MAX = 10 * MIB;
let db: PostgresSql;
let blobs: MemoryBlobs;
let deps: UploadsDeps;
let stream: number;
let made = 0;

beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(async () => {
  blobs = memoryBlobs();
  deps = { db, blobs, bytesMax: BLOB_BYTES_MAX, log: silentLog };
  stream = await aStream(db);
  await db.query(sql`truncate uploads, loose_blobs`);
});

async function begun({ size = null, of = stream }: { size?: number | null; of?: number } = {}): Promise<UploadPlace> {
  const place = { stream: of, subject: 'fl_a', id: `upload-of-test-${++made}` };
  expect(await beginUpload(place, { key: `v1/test/${made}`, about: { name: 'a' }, size }, deps)).toBe(true);
  return place;
}
const put = (place: UploadPlace, partNumber: number, bytes: Uint8Array, size: number | null = bytes.length) =>
  putPart(place, { partNumber, body: inPieces(bytes, 100_000), size }, deps);
const rowOf = async ({ id }: UploadPlace) => {
  const [row] = await db.query(sql<{ cameBytes: number; minutes: number; doomed: boolean }>`
    select came_bytes as "cameBytes", round(extract(epoch from due_at - now()) / 60)::int as minutes, doomed from uploads where id = ${id}`);
  return row ?? null;
};
const loose = async () =>
  db.query(sql<{ key: string; hours: number }>`
    select key, round(extract(epoch from due_at - now()) / 3600)::int as hours from loose_blobs order by key`);
const notFound = { code: 'RESOURCE_NOT_FOUND', message: expect.stringContaining('The upload "') };

describe('parts', () => {
  test('[UP1] parts make a blob that is loose until something refers to it, with what was said of it', async () => {
    const place = await begun({ size: 5 * MIB + 2 });
    const parts = [await put(place, 2, bytesOf(2)), await put(place, 1, bytesOf(5 * MIB))];
    expect(parts.map(({ partNumber }) => partNumber)).toEqual([2, 1]);
    const blob = await completeUpload(place, parts, deps);
    expect(blob).toEqual({ key: `v1/test/${made}`, size: 5 * MIB + 2, about: { name: 'a' } });
    expect(await loose()).toEqual([{ key: blob!.key, hours: 24 }]);
    expect(blobs.stored.get(blob!.key)?.length).toBe(5 * MIB + 2);
  });

  test.each<[string, (place: UploadPlace) => Promise<UploadPlace>]>([
    ['of another stream', async (place) => ({ ...place, stream: await aStream(db) })],
    ['of another subject', async (place) => ({ ...place, subject: 'fl_b' })],
    ['that was never begun', async (place) => ({ ...place, id: 'unknown' })],
    ['of an impossible id', async (place) => ({ ...place, id: 'a\u0000' })],
    ['of the empty id', async (place) => ({ ...place, id: '' })],
  ])('[UP2] an upload %s is not found, and the one that is there goes on', async (_, other) => {
    const place = await begun();
    const part = await put(place, 1, bytesOf(3));
    const wrong = await other(place);
    await expect(put(wrong, 1, bytesOf(3))).rejects.toMatchObject(notFound);
    await expect(abandonUpload(wrong, deps)).rejects.toMatchObject(notFound);
    const completed = await completeUpload(wrong, [part], deps).catch((error: unknown) => {
      expect(error).toMatchObject(notFound);
      return null;
    });
    expect(completed).toBeNull();
    expect(await completeUpload(place, [part], deps)).toMatchObject({ size: 3 });
  });

  test('[UP2] one that was given up is not found any more', async () => {
    const place = await begun();
    await abandonUpload(place, deps);
    await expect(put(place, 1, bytesOf(3))).rejects.toMatchObject(notFound);
    await expect(abandonUpload(place, deps)).rejects.toMatchObject(notFound);
    expect(await completeUpload(place, [{ partNumber: 1, etag: 'a' }], deps)).toBeNull();
  });

  test('[UP3] what the store has lost is not found, and not under the name that the store knew it by', async () => {
    const place = await begun();
    const part = await put(place, 1, bytesOf(3));
    await blobs.parts.abortStale({ beforeMs: Number.POSITIVE_INFINITY });
    const named = { code: 'RESOURCE_NOT_FOUND', facts: { kind: 'upload', id: place.id } };
    await expect(put(place, 2, bytesOf(3))).rejects.toMatchObject(named);
    await expect(completeUpload(place, [part], deps)).rejects.toMatchObject(named);
  });

  test('[UP3] a completion that died after the store had made the blob is done again, without the parts', async () => {
    const place = await begun();
    const part = await put(place, 1, bytesOf(3));
    const first = await completeUpload(place, [part], deps);
    expect(await completeUpload(place, [part], deps)).toEqual(first);
  });

  test('[UP4] twice as many bytes as a blob may have may come, those counted that came, and not one more', async () => {
    const place = await begun();
    const parts: NamedPart[] = [];
    for (const number of [1, 1, 2, 2]) parts[number - 1] = await put(place, number, bytesOf(5 * MIB));
    await expect(put(place, 3, bytesOf(1))).rejects.toMatchObject({ code: 'PAYLOAD_TOO_LARGE' });
    expect(await rowOf(place)).toMatchObject({ cameBytes: 20 * MIB });
    expect(await completeUpload(place, parts, deps)).toMatchObject({ size: 10 * MIB });
  });

  test('[UP4] what did not come is not counted: of a part that broke off, or whose size was not announced', async () => {
    const place = await begun();
    await put(place, 1, bytesOf(7), null);
    expect(await rowOf(place)).toMatchObject({ cameBytes: 7 });
    async function* broken(): AsyncGenerator<Uint8Array> {
      yield bytesOf(5);
      throw new Error('the client went away');
    }
    await expect(putPart(place, { partNumber: 2, body: broken(), size: 100 }, deps)).rejects.toThrow('went away');
    expect(await rowOf(place)).toMatchObject({ cameBytes: 7 });
    await expect(put(place, 2, bytesOf(5), 4)).rejects.toMatchObject({ code: 'UNPROCESSABLE_ENTITY' });
    expect(await rowOf(place)).toMatchObject({ cameBytes: 7 });
  });

  test('[UP5] a stream has a thousand open uploads at most; one more leaves nothing in the store', async () => {
    await db.query(sql`
      insert into uploads (id, stream, subject, about, blob_key, store_upload_id, due_at)
      select 'filler ' || n, ${stream}, 'x', '{}', 'k', 'u', now() + interval '1 hour' from generate_series(1, 999) n`);
    const last = await begun();
    const place = { ...last, id: 'one-too-many' };
    expect(await beginUpload(place, { key: 'v1/test/over', about: {}, size: null }, deps)).toBe(false);
    await begun({ of: await aStream(db) });
    expect(await blobs.parts.abortStale({ beforeMs: Number.POSITIVE_INFINITY })).toBe(2);
  });

  test('[UP5] a stream that is gone has none', async () => {
    await db.query(sql`delete from rooms where pk = ${stream}`);
    expect(await beginUpload({ stream, subject: 'a', id: 'x' }, { key: 'v1/test/gone', about: {}, size: null }, deps)).toBe(
      false,
    );
  });
});

describe('the sweep', () => {
  const aSweep = (): Sweep => {
    const sweep = sweepUploads({ db, parts: blobs.parts, clock, log: silentLog });
    onTestFinished(() => sweep.close());
    return sweep;
  };
  const leftInStore = () => blobs.parts.abortStale({ beforeMs: Number.POSITIVE_INFINITY });
  const age = async ({ id }: UploadPlace, hours: number) =>
    db.query(sql`update uploads set due_at = due_at - ${hours} * interval '1 hour' where id = ${id}`);

  test('[UP6] an upload to which nothing was added for a day is aborted, and not before', async () => {
    const [old, young] = [await begun(), await begun()];
    await age(old, 24);
    await age(young, 23);
    await aSweep().run();
    expect([await rowOf(old), (await rowOf(young))?.minutes]).toEqual([null, 60]);
    expect(await leftInStore()).toBe(1);
  });

  test('[UP6] a part, and an attempt to complete it, put that off', async () => {
    const place = await begun();
    await age(place, 23);
    await put(place, 1, bytesOf(3));
    expect((await rowOf(place))?.minutes).toBe(24 * 60);
    await age(place, 23);
    await expect(completeUpload(place, [{ partNumber: 2, etag: 'x' }], deps)).rejects.toMatchObject({
      code: 'UNPROCESSABLE_ENTITY',
    });
    expect((await rowOf(place))?.minutes).toBe(24 * 60);
  });

  test('[UP6] one that was given up, and one whose stream is gone, are aborted with the next pass, every minute', async () => {
    const [given, orphan, other] = [await begun(), await begun({ of: await aStream(db) }), await begun()];
    await abandonUpload(given, deps);
    await db.query(sql`delete from rooms where pk = ${orphan.stream}`);
    const sweep = aSweep();
    clock.advance(60_000);
    await sweep.run();
    expect([await rowOf(given), await rowOf(orphan), (await rowOf(other))?.doomed]).toEqual([null, null, false]);
    expect(await leftInStore()).toBe(1);
  });

  test('[UP6] however many there are; two that sweep take different ones', async () => {
    const places = [];
    for (let n = 0; n < 90; n++) places.push(await begun());
    await db.query(sql`update uploads set due_at = now()`);
    const aborted: string[] = [];
    const { abort } = blobs.parts;
    blobs.parts.abort = async (upload) => {
      aborted.push(upload.uploadId);
      await abort(upload);
    };
    await Promise.all([aSweep().run(), aSweep().run(), aSweep().run()]);
    expect(new Set(aborted).size).toBe(90);
    expect(aborted).toHaveLength(90);
    expect(await leftInStore()).toBe(0);
  });

  test('[UP6] what the store does not abort comes again in ten minutes; nobody goes on with it meanwhile', async () => {
    const place = await begun();
    await age(place, 25);
    const { abort } = blobs.parts;
    blobs.parts.abort = async () => {
      throw new AppError('BLOBS_UNAVAILABLE');
    };
    const sweep = aSweep();
    await sweep.run();
    expect(await rowOf(place)).toMatchObject({ doomed: true, minutes: 10 });
    await expect(put(place, 1, bytesOf(1))).rejects.toMatchObject(notFound);
    blobs.parts.abort = abort;
    await sweep.run();
    expect(await rowOf(place)).not.toBeNull();
    await db.query(sql`update uploads set due_at = now()`); // its ten minutes are over
    await sweep.run();
    expect([await rowOf(place), await leftInStore()]).toEqual([null, 0]);
  });

  test('[UP6] a sweep that is closed ends after the batch under way', async () => {
    for (let n = 0; n < 50; n++) await begun();
    await db.query(sql`update uploads set due_at = now()`);
    let asked = 0;
    let goOn: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    blobs.parts.abort = async () => {
      asked += 1;
      await gate;
    };
    const sweep = aSweep();
    void sweep.run();
    await until('the first batch is under way', () => asked === 20);
    const closed = sweep.close();
    goOn();
    await closed;
    expect(asked).toBe(20);
  });
});
