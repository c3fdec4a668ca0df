/** What only blobs in S3 do: presigned URLs, and bounded, honest behaviour when the server is gone, slow or at fault. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { S3Blobs } from '../../src/adapters/s3-blobs.ts';
import { checkBucket } from '../../src/adapters/s3-start.ts';
import { silentLog } from '../../src/base/observe.ts';
import { aKey, bytesOf, inPieces, MIB, sha256, textOf } from '../support/blob-bodies.ts';
import { compiled } from '../support/compiled.ts';
import { until } from '../support/e2e/until.ts';
import type { Fault } from '../support/faulty-http.ts';
import { useS3 } from '../support/s3.ts';

const s3 = await useS3();
let blobs: S3Blobs;
const open = (options: { publicEndpoint?: string; bucket?: string } = {}): S3Blobs =>
  new S3Blobs({
    endpoint: s3.endpoint,
    bucket: blobs.bucket.name,
    region: 'us-east-1',
    forcePathStyle: true,
    log: silentLog,
    ...options,
  });

beforeAll(async () => {
  if (!s3.isThere) return;
  const options = { endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true, log: silentLog };
  blobs = new S3Blobs({ ...options, bucket: s3.newBucket() });
  await checkBucket({ ...options, bucket: blobs.bucket, missing: 'create' });
});
afterAll(() => blobs?.close());

describe.skipIf(!s3.isThere)('presigned URLs of S3', () => {
  const terms = { validMs: 60_000, fileName: 'Résumé "1".txt', mimeType: 'text/plain' };

  test('[BL4] the URL downloads the blob under its name and type, whole or in ranges', async () => {
    const key = aKey();
    await blobs.put(key, Buffer.from('0123456789'));
    const url = await blobs.presign(key, terms);
    const answer = await fetch(url);
    expect([answer.status, await answer.text(), answer.headers.get('content-type')]).toEqual([200, '0123456789', 'text/plain']);
    expect(answer.headers.get('content-disposition')).toBe(
      `attachment; filename="R_sum_ _1_.txt"; filename*=UTF-8''R%C3%A9sum%C3%A9%20%221%22.txt`,
    );
    const part = await fetch(url, { headers: { range: 'bytes=2-4' } });
    expect([part.status, await part.text(), part.headers.get('content-range')]).toEqual([206, '234', 'bytes 2-4/10']);
  });

  test('[BL4] a URL ends with its time, and a changed one is refused', async () => {
    const key = aKey();
    await blobs.put(key, bytesOf(10));
    const url = await blobs.presign(key, { ...terms, validMs: 2_000 }); // from the second in which it is made: one second at least
    expect((await fetch(url)).status).toBe(200);
    for (const [was, is] of [
      ['Expires=2', 'Expires=3'],
      ['text%2Fplain', 'text%2Fhtml'],
      ['R_sum_', 'other'],
    ] as const) {
      expect(url).toContain(was);
      expect((await fetch(url.replace(was, is))).status).toBe(403);
    }
    await until('the URL has expired', async () => (await fetch(url)).status === 403);
  });

  test('[BL4] clients reach the server under an address of their own', async () => {
    const own = open({ publicEndpoint: 'https://files.example:9000' });
    const url = new URL(await own.presign('v1/a', terms));
    expect([url.origin, url.pathname]).toEqual(['https://files.example:9000', `/${blobs.bucket.name}/v1/a`]);
    own.close();
  });
});

describe.skipIf(!s3.canBreak).concurrent('faults of S3', () => {
  /** What happens to the next requests about a key, one after the other; the last one stays. */
  const planned = new Map<string, (Fault | null)[]>();
  const plan = (key: string, ...faults: (Fault | null)[]): void => void planned.set(key, faults);

  beforeEach(() => {
    s3.way.fault = ({ path }) => {
      for (const [key, faults] of planned)
        if (path.includes(key)) return (faults.length > 1 ? faults.shift() : faults[0]) ?? null;
      return null;
    };
  });
  const asked = (key: string, method: string): string[] =>
    s3.way.asked.filter((request) => request.path.includes(key) && request.method === method).map(({ path }) => path);
  const away = { code: 'BLOBS_UNAVAILABLE' };

  test.each([500, 503, 429])('[BL11] an answer of %i is asked for again', async (status) => {
    const key = aKey();
    plan(key, { kind: 'status', status }, null, null, { kind: 'status', status }, null);
    await blobs.put(key, bytesOf(10));
    expect((await blobs.get(key))?.length).toBe(10);
    expect(asked(key, 'PUT')).toHaveLength(2);
  });

  test.each([500, 503, 403, 400])(
    '[BL11] if it stays %i, that is an error that may pass, for whatever was asked',
    async (status) => {
      const key = aKey();
      plan(key, { kind: 'status', status });
      await expect(blobs.put(key, bytesOf(10))).rejects.toMatchObject(away);
      await expect(blobs.put(key, inPieces(bytesOf(6 * MIB), MIB))).rejects.toMatchObject(away);
      await expect(blobs.get(key)).rejects.toMatchObject(away);
      await expect(blobs.read(key)).rejects.toMatchObject(away);
      await expect(blobs.head(key)).rejects.toMatchObject(away);
      await expect(blobs.delete(key)).rejects.toMatchObject(away);
      await expect(blobs.parts.start(key)).rejects.toMatchObject(away);
    },
  );

  test('[BL11] a server that takes the request and says nothing is given up in time', async () => {
    const key = aKey();
    plan(key, { kind: 'hold' });
    const outcomes = await Promise.allSettled([
      blobs.get(key),
      blobs.head(key),
      blobs.put(key, bytesOf(10)),
      blobs.put(key, inPieces(bytesOf(6 * MIB), MIB)),
      blobs.parts.put({ key, uploadId: 'x' }, 1, { body: inPieces(bytesOf(6 * MIB), MIB), size: 6 * MIB }),
    ]);
    expect(outcomes.map((outcome) => outcome.status === 'rejected' && outcome.reason.code)).toEqual(
      Array(5).fill('BLOBS_UNAVAILABLE'),
    );
  });

  test('[BL11] one late answer is not waited for: the next attempt brings it', async () => {
    const key = aKey();
    await blobs.put(key, bytesOf(10));
    plan(key, { kind: 'slow', ms: 10_000 }, { kind: 'slow', ms: 500 });
    expect((await blobs.get(key))?.length).toBe(10);
  });

  test.each([10, 200_000])('[BL11] an answer cut in its body is asked for again: after %i bytes', async (afterBytes) => {
    const key = aKey();
    await blobs.put(key, bytesOf(MIB));
    plan(key, { kind: 'cut', afterBytes }, null);
    expect(sha256((await blobs.get(key))!)).toBe(sha256(bytesOf(MIB)));
  });

  test('[BL11] if it stays cut that is an error, never a shorter blob; so is a stream that is cut', async () => {
    const key = aKey();
    await blobs.put(key, bytesOf(MIB));
    plan(key, { kind: 'cut', afterBytes: 100_000 });
    await expect(blobs.get(key)).rejects.toMatchObject(away);
    const { body } = (await blobs.read(key))!;
    await expect(textOf(body)).rejects.toMatchObject(away);
  });

  test.each([10, 6 * MIB])('[BL11] bytes that changed on their way to the server are refused by it: one of %i', async (size) => {
    const key = aKey();
    const flip = { kind: 'flip', body: 'request' } as const;
    plan(key, ...(size > MIB ? [null, null, flip, null] : [flip, null]));
    await expect(blobs.put(key, bytesOf(size))).rejects.toMatchObject(away);
    expect(await blobs.head(key)).toBeNull();
  });

  test('[BL11] a put whose answer was lost succeeds, and has put once', async () => {
    const key = aKey();
    plan(key, { kind: 'lost' }, null);
    expect(await blobs.put(key, bytesOf(10))).toEqual({ size: 10, sha256: sha256(bytesOf(10)) });
    expect(asked(key, 'PUT')).toHaveLength(2);
  });

  test.each([0, 1, 2, 3, 4])(
    '[BL11] so does one in parts, whichever answer was lost: the one after %i others',
    async (before) => {
      const key = aKey();
      plan(key, ...Array(before).fill(null), { kind: 'lost' }, null);
      expect(await blobs.put(key, bytesOf(8 * MIB))).toEqual({ size: 8 * MIB, sha256: sha256(bytesOf(8 * MIB)) });
      expect(sha256((await blobs.get(key))!)).toBe(sha256(bytesOf(8 * MIB)));
    },
  );

  test('[BL11] an upload that fails midway is aborted', async () => {
    const key = aKey();
    plan(key, null, null, null, { kind: 'status', status: 400 }, { kind: 'status', status: 400 }, null);
    await expect(blobs.put(key, bytesOf(13 * MIB))).rejects.toMatchObject(away);
    await until('the upload is aborted', () => asked(key, 'DELETE').some((path) => path.includes('uploadId=')));
  });

  test('[BL11] a server that does not know conditions is written to without', async () => {
    const strict = open();
    const key = aKey();
    plan(key, { kind: 'status', status: 501 }, null);
    await strict.put(key, bytesOf(10));
    const conditions = s3.way.asked.filter(({ method, path }) => method === 'PUT' && path.includes(key));
    expect(conditions.map(({ headers }) => headers['if-none-match'])).toEqual(['*', undefined]);
    strict.close();
  });

  const conflict = { kind: 'status', status: 409 } as const;

  test('[BL21] a put that the server refuses because somebody is putting the same key is sent once more', async () => {
    const key = aKey();
    plan(key, conflict, null);
    await blobs.put(key, bytesOf(10));
    expect((await blobs.get(key))?.length).toBe(10);
    expect(asked(key, 'PUT')).toHaveLength(2);
  });

  test.each([
    ['in one request', 10, [conflict, conflict]],
    ['in parts', 8 * MIB, [null, null, null, null, conflict]],
  ])('[BL21] while nothing comes of that, it is an error that may pass: %s', async (_, size, faults) => {
    const key = aKey();
    plan(key, ...faults, null);
    await expect(blobs.put(key, bytesOf(size))).rejects.toMatchObject(away);
    expect(await blobs.put(key, bytesOf(size))).toMatchObject({ size });
  });

  test('[BL21] once something has, it is the same bytes, or others', async () => {
    const key = aKey();
    await blobs.put(key, bytesOf(10));
    for (const [body, outcome] of [
      [bytesOf(10), { size: 10 }],
      [bytesOf(11), { code: 'RESOURCE_ALREADY_EXISTS' }],
      [bytesOf(10).fill(1), { code: 'RESOURCE_ALREADY_EXISTS' }],
    ] as const) {
      plan(key, conflict, conflict, null);
      expect(await blobs.put(key, body).catch((error: unknown) => error)).toMatchObject(outcome);
    }
  });

  test.each(['', '404 page not found\n', '<html>no backend</html>'])(
    '[BL23] a 404 in other words than S3’s says nothing of what is there: %j',
    async (body) => {
      const [key, partly, fresh] = [aKey(), aKey(), aKey()];
      const all = (fault: Fault | null): void => {
        for (const each of [key, partly, fresh]) plan(each, fault);
      };
      await blobs.put(key, bytesOf(10));
      const upload = await blobs.parts.start(partly);
      const part = await blobs.parts.put(upload, 1, { body: bytesOf(10) });
      all({ kind: 'status', status: 404, body });
      await expect(blobs.put(fresh, bytesOf(10))).rejects.toMatchObject(away);
      await expect(blobs.put(fresh, inPieces(bytesOf(6 * MIB), MIB))).rejects.toMatchObject(away);
      await expect(blobs.get(key)).rejects.toMatchObject(away);
      await expect(blobs.read(key, { start: 1, end: 2 })).rejects.toMatchObject(away);
      await expect(blobs.delete(key)).rejects.toMatchObject(away);
      await expect(blobs.parts.start(fresh)).rejects.toMatchObject(away);
      await expect(blobs.parts.put(upload, 1, { body: bytesOf(10) })).rejects.toMatchObject(away);
      await expect(blobs.parts.complete(upload, [part], { bytesMax: 10 })).rejects.toMatchObject(away);
      await expect(blobs.parts.abort(upload)).rejects.toMatchObject(away);
      all(null);
      expect((await blobs.get(key))?.length).toBe(10);
      expect(await blobs.parts.complete(upload, [part], { bytesMax: 10 })).toEqual({ size: 10 });
    },
  );

  test('[BL11] a bucket that is gone is not a blob that is missing', async () => {
    const lost = open({ bucket: s3.newBucket() });
    await expect(lost.get(aKey())).rejects.toMatchObject(away);
    lost.close();
  });
});

describe.skipIf(!s3.isThere)('a large stream to S3', () => {
  test('[BL12] 200 MB pass through in 64 MB of memory', async () => {
    const { PATH = '' } = process.env;
    const env = { PATH, MEGABYTES: '200', ...s3.settings(blobs.bucket.name) };
    const child = [await compiled('test/support/put-child.ts')];
    const { stdout } = await promisify(execFile)(process.execPath, child, { env });
    const { size, grownBytes } = JSON.parse(stdout) as { size: number; grownBytes: number };
    expect(size).toBe(200 * MIB);
    expect(grownBytes).toBeLessThan(64 * MIB);
  }, 120_000);
});

describe.skipIf(!s3.canBreak)('S3 away', () => {
  test('[BL11] while nobody answers all fails at once, URLs are still signed, and then all is well again', async () => {
    const key = aKey();
    await blobs.put(key, bytesOf(10));
    await s3.way.stop();
    await expect(blobs.put(aKey(), bytesOf(10))).rejects.toMatchObject({ code: 'BLOBS_UNAVAILABLE' });
    await expect(blobs.get(key)).rejects.toMatchObject({ code: 'BLOBS_UNAVAILABLE' });
    const url = await blobs.presign(key, { validMs: 60_000, fileName: 'a', mimeType: 'text/plain' });
    await s3.way.start();
    expect((await blobs.get(key))?.length).toBe(10);
    expect((await fetch(url)).status).toBe(200);
  });
});
