import { beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PostgresSql } from '../../../src/adapters/postgres-sql.ts';
import { systemClock, systemRandom } from '../../../src/base/clock.ts';
import { AppError } from '../../../src/base/errors.ts';
import { silentLog } from '../../../src/base/observe.ts';
import { fileRoutes } from '../../../src/features/files/routes.ts';
import { BlobSweep } from '../../../src/kernel/persistence/blob-sweep.ts';
import { type Sql, sql } from '../../../src/kernel/persistence/sql.ts';
import { makeApi } from '../../../src/kernel/transport/api.ts';
import { makeAuthenticate } from '../../../src/kernel/transport/principal.ts';
import type { HttpHandler } from '../../../src/kernel/transport/server.ts';
import { call } from '../../support/api-request.ts';
import { type MemoryBlobs, memoryBlobs } from '../../support/memory-blobs.ts';
import { usePostgres } from '../../support/postgres.ts';
import { aStream, type Meddler, meddled } from '../../support/streams.ts';
import { aDoor, type RecordingDoor, SECRET_KEY } from '../call.ts';

const postgres = usePostgres();
const NOW_MS = Date.UTC(2031, 1, 3, 4, 5, 6, 7);
const FILE_BYTES_MAX = 1_000;
const ID = `fl_${'a'.repeat(21)}`;
const headers = { authorization: `Bearer ${SECRET_KEY}`, 'content-type': 'application/octet-stream' };
const asJson = { ...headers, 'content-type': 'application/json' };
let db: PostgresSql;
let blobs: MemoryBlobs;
let door: RecordingDoor;
let base: `/${string}`;
let ids = 0;

beforeAll(async () => {
  db = await postgres.open();
});
beforeEach(async () => {
  blobs = memoryBlobs();
  await db.query(sql`truncate loose_blobs, uploads`);
  const stream = await aStream(db);
  const [room] = await db.query(sql<{ id: string }>`select id from rooms where pk = ${stream}`);
  door = aDoor([room!.id], { 'storage.refers': [ID] });
  base = `/v2/rooms/${encodeURIComponent(room!.id)}/storage/files`;
});

function apiOn(over: Sql = db): HttpHandler {
  const deps = { blobs, rooms: door, bytesMax: FILE_BYTES_MAX, nowMs: () => NOW_MS, log: silentLog };
  return makeApi({
    clock: systemClock,
    routes: fileRoutes({ ...deps, db: over, newId: () => `made-${process.pid}-${++ids}` }),
    info: { title: 'Test', version: '0', description: '' },
    authenticate: makeAuthenticate({
      secretKeys: [SECRET_KEY],
      publicKey: 'pk_test',
      verifyToken: () => Promise.reject(new AppError('INVALID_TOKEN')),
    }),
    jsonLimits: { bytesMax: 100_000, depthMax: 32, keysMax: 10_000 },
    origins: '*',
    log: silentLog,
    random: systemRandom,
  });
}

/** A database whose user dies before or after the first statement that this fits. */
function dyingAt(pattern: RegExp, when: 'before' | 'after'): HttpHandler {
  let isDead = false;
  const meddler: Meddler = async (query, run) => {
    if (isDead) throw new AppError('DATABASE_UNAVAILABLE');
    if (!pattern.test(query.text)) return run();
    isDead = true;
    if (when === 'after') await run();
    throw new AppError('DATABASE_UNAVAILABLE');
  };
  return apiOn(meddled(db, meddler));
}

const upload = (api = apiOn(), body: unknown = 'hello') => call(api, `PUT ${base}/${ID}/upload/a.txt`, { headers, body });
const read = () => call(apiOn(), `GET ${base}/${ID}`, { headers });
const looseNow = async (): Promise<{ all: number; due: number }> => {
  const [row] = await db.query(sql<{ all: number; due: number }>`
    select count(*)::int as all, (count(*) filter (where due_at <= now()))::int as due from loose_blobs`);
  return row!;
};

describe('a worker that dies while a file is uploaded whole', () => {
  test.each([
    ['before it notes the key', /insert into loose_blobs/, 'before', { blobs: 0, loose: 0, file: 404 }],
    ['before the put', /insert into loose_blobs/, 'after', { blobs: 0, loose: 1, file: 404 }],
    ['between put and file', /insert into files/, 'before', { blobs: 1, loose: 1, file: 404 }],
    ['right after the file', /insert into files/, 'after', { blobs: 1, loose: 0, file: 200 }],
  ] as const)('[FI15] leaves a loose blob at most, and the next upload goes well: %s', async (_, pattern, when, left) => {
    expect((await upload(dyingAt(pattern, when))).status).toBe(503);
    expect({ blobs: blobs.stored.size, loose: (await looseNow()).all, file: (await read()).status }).toEqual(left);
    expect((await upload()).value).toEqual({ id: ID, name: 'a.txt', size: 5, mimeType: 'text/plain' });
    expect((await read()).status).toBe(200);
    expect((await looseNow()).all).toBe(left.loose); // what was left is still due in a day
  });

  test('[FI15] what breaks off, does not fit, or was in vain, goes with the next sweep', async () => {
    const { put } = blobs;
    blobs.put = async (key, body) => {
      blobs.put = put;
      await put(key, body);
      throw new Error('the client went away');
    };
    expect((await upload()).status).toBe(500);
    expect(await looseNow()).toEqual({ all: 1, due: 1 });
    expect((await upload(apiOn(), new Uint8Array(FILE_BYTES_MAX + 1))).status).toBe(413);
    expect(await looseNow()).toEqual({ all: 2, due: 2 });
    blobs.put = async (key, body) => {
      blobs.put = put;
      const stored = await put(key, body);
      expect((await upload()).status).toBe(200); // somebody else is faster
      return stored;
    };
    expect((await upload()).status).toBe(200);
    expect(await looseNow()).toEqual({ all: 3, due: 3 });
    expect(blobs.stored.size).toBe(3);
  });

  test('[FI24] what the store may carry out after all, though it did not say so in time, stays loose for a day, and goes then', async () => {
    const { put } = blobs;
    let carryOut: () => Promise<unknown> = async () => undefined;
    blobs.put = async (key) => {
      carryOut = () => put(key, Buffer.from('hello'));
      throw new AppError('BLOBS_UNAVAILABLE');
    };
    expect((await upload()).value.error).toBe('BLOBS_UNAVAILABLE');
    const sweep = new BlobSweep({ db, blobs, clock: systemClock, log: silentLog });
    await sweep.run();
    await carryOut();
    expect([blobs.stored.size, await looseNow()]).toEqual([1, { all: 1, due: 0 }]);
    await db.query(sql`update loose_blobs set due_at = due_at - interval '1 day'`);
    await sweep.run();
    await sweep.close();
    expect([blobs.stored.size, await looseNow()]).toEqual([0, { all: 0, due: 0 }]);
  });

  test('[FI15] an upload that took so long that its blob was swept is refused as one to try again', async () => {
    const { put } = blobs;
    blobs.put = async (key, body) => {
      const stored = await put(key, body);
      await db.query(sql`update loose_blobs set doomed = true`);
      return stored;
    };
    const answer = await upload();
    expect([answer.status, answer.value.error, answer.headers['retry-after']]).toEqual([503, 'BLOBS_UNAVAILABLE', '1']);
  });

  test('[FI15] nothing is read of a body whose file is there, of the size that is announced', async () => {
    await upload();
    let isRead = false;
    const again = await apiOn()({
      method: 'PUT',
      path: `${base}/${ID}/upload/a.txt`,
      query: 'fileSize=5',
      headers,
      aborted: new AbortController().signal,
      body: async () => new Uint8Array(),
      async *stream() {
        isRead = true;
        yield new Uint8Array(5);
      },
    });
    expect([again.status, isRead]).toEqual([200, false]);
  });
});

describe('an upload in parts', () => {
  const begin = async (): Promise<string> =>
    (await call(apiOn(), `POST ${base}/${ID}/multipart/a.txt`, { headers })).value.uploadId;
  const begun = async () => {
    const uploadId = await begin();
    const part = await call(apiOn(), `PUT ${base}/${ID}/multipart/${uploadId}/1`, { headers, body: 'hello' });
    return { uploadId, parts: [part.value] };
  };
  const complete = ({ uploadId, parts }: { uploadId: string; parts: unknown[] }, api = apiOn()) =>
    call(api, `POST ${base}/${ID}/multipart/${uploadId}/complete`, { headers: asJson, body: { parts } });
  const openUploads = async (): Promise<number> => (await db.query(sql`select 1 from uploads`)).length;

  test.each([
    ['before it notes the key', /insert into loose_blobs/, 'before', { blobs: 0, loose: 0, uploads: 1 }],
    ['before the blob is made', /insert into loose_blobs/, 'after', { blobs: 0, loose: 1, uploads: 1 }],
    ['between blob and file', /insert into files/, 'before', { blobs: 1, loose: 1, uploads: 1 }],
    ['right after the file', /insert into files/, 'after', { blobs: 1, loose: 0, uploads: 0 }],
  ] as const)('[FI16] whose completion dies is completed by the next attempt: %s', async (_, pattern, when, left) => {
    const upload = await begun();
    expect((await complete(upload, dyingAt(pattern, when))).status).toBe(503);
    expect({ blobs: blobs.stored.size, loose: (await looseNow()).all, uploads: await openUploads() }).toEqual(left);
    expect((await complete(upload)).value).toEqual({ id: ID, name: 'a.txt', size: 5, mimeType: 'text/plain' });
    expect([await looseNow(), await openUploads(), blobs.stored.size]).toEqual([{ all: 0, due: 0 }, 0, 1]);
  });

  test('[FI16] that comes after another file has taken its id leaves nothing but a blob that goes with the next sweep', async () => {
    const [first, second] = [await begun(), await begun()];
    await complete(first);
    expect((await complete(second)).status).toBe(200); // the same name and size: it is that file
    expect([await looseNow(), await openUploads()]).toEqual([{ all: 1, due: 1 }, 0]);
  });

  test('[FI16] is 429 where the room has as many as it may', async () => {
    await db.query(sql`
      insert into uploads (id, stream, subject, about, blob_key, store_upload_id, due_at)
      select 'filler ' || n, pk, 'x', '{}', 'k', 'u', now() from generate_series(1, 1000) n,
             lateral (select max(pk) as pk from rooms) room`);
    const { status, value, headers: told } = await call(apiOn(), `POST ${base}/${ID}/multipart/a.txt`, { headers });
    expect([status, value.error, told['retry-after']]).toEqual([429, 'ROOM_OVERLOADED', '1']);
  });
});

describe('addresses', () => {
  const urls = (fileIds: string[]) =>
    call(apiOn(), `POST ${base.replace('/v2/', '/v2/c/') as '/x'}/presigned-urls`, { headers: asJson, body: { fileIds } });

  test('[FI17] hold an hour from now, and say so', async () => {
    await upload();
    expect((await read()).value).toMatchObject({
      url: expect.stringMatching(/^memory:v1\/files\/\d+\//),
      expiresAt: '2031-02-03T05:05:06.007Z',
    });
    expect((await urls([ID])).value).toEqual({
      urls: [expect.stringMatching(/^memory:/)],
      expiresAt: '2031-02-03T05:05:06.007Z',
    });
  });

  test('[FI17] of files that are there the room is asked, once; of others nobody', async () => {
    await upload();
    await urls([`fl_${'b'.repeat(21)}`, 'x\u0000']);
    expect(door.asked).toEqual([]);
    await urls([ID, ID]);
    expect(door.asked.map(([, command]) => command)).toEqual([{ type: 'storage.refers', fileIds: [ID] }]);
  });
});
