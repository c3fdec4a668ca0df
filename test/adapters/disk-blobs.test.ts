/** What only blobs on disk do: keep to their folder, leave nothing unfinished, sign URLs. */
import { existsSync, readdirSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type BlobGrant, grantOf } from '../../src/adapters/blob-urls.ts';
import { Disk } from '../../src/adapters/disk.ts';
import { DiskBlobs } from '../../src/adapters/disk-blobs.ts';
import { DiskParts } from '../../src/adapters/disk-parts.ts';
import { systemRandom } from '../../src/base/clock.ts';
import type { Keyring } from '../../src/base/keyring.ts';
import { silentLog } from '../../src/base/observe.ts';
import type { BlobBody, StoredBlob } from '../../src/kernel/persistence/blobs.ts';
import { aKey, bytesOf } from '../support/blob-bodies.ts';
import { manualClock } from '../support/manual-clock.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atrium-blobs-'));
});
afterAll(() => rm(directory, { recursive: true }));

const secret = new Uint8Array(32).fill(7);
const clock = manualClock();
const open = (): DiskBlobs =>
  new DiskBlobs({
    directory,
    publicUrl: () => 'https://rooms.example',
    secrets: [secret],
    clock,
    random: systemRandom,
    log: silentLog,
  });

const unfinished = async (): Promise<string[]> => readdir(join(directory, '.unfinished'));

test('[BL1] nothing unfinished stays on the disk', async () => {
  const blobs = open();
  async function* broken(): AsyncGenerator<Uint8Array> {
    yield bytesOf(1_000);
    throw new Error('the client went away');
  }
  const key = aKey();
  await blobs.put(key, bytesOf(10));
  await blobs.put(key, bytesOf(10));
  await expect(blobs.put(key, bytesOf(11))).rejects.toThrow();
  await expect(blobs.put(aKey(), broken())).rejects.toThrow('went away');
  const upload = await blobs.parts.start(aKey());
  const part = await blobs.parts.put(upload, 1, { body: bytesOf(10) });
  await blobs.parts.complete(upload, [part], { bytesMax: 10 });
  expect(await unfinished()).toEqual([]);
});

test('[BL22] a part that comes again while the blob is made of what came before does not get into it', async () => {
  const blobs = open();
  const upload = await blobs.parts.start(aKey());
  const disk = new Disk(silentLog);
  const put = async (key: string, body: BlobBody): Promise<StoredBlob> => {
    await blobs.parts.put(upload, 1, { body: bytesOf(10) });
    return blobs.put(key, body);
  };
  const racing = new DiskParts({ directory: join(directory, '.unfinished'), random: systemRandom, disk, put });
  const before = await racing.put(upload, 1, { body: bytesOf(1_000) });
  await expect(racing.complete(upload, [before], { bytesMax: 1_000 })).rejects.toMatchObject({
    code: 'UNPROCESSABLE_ENTITY',
    message: expect.stringContaining('another etag for part 1'),
  });
  expect(await blobs.head(upload.key)).toBeNull();
  const now = await blobs.parts.put(upload, 1, { body: bytesOf(10) });
  expect(await blobs.parts.complete(upload, [now], { bytesMax: 10 })).toEqual({ size: 10 });
  expect(await unfinished()).toEqual([]);
});

test('[BL10] what a process left that died in the middle goes with the stale uploads', async () => {
  const blobs = open();
  let isHalf: () => void = () => undefined;
  const half = new Promise<void>((resolve) => {
    isHalf = resolve;
  });
  async function* endless(): AsyncGenerator<Uint8Array> {
    yield bytesOf(1_000);
    isHalf();
    await new Promise(() => undefined);
  }
  void blobs.put(aKey(), endless());
  await half;
  expect(await unfinished()).toHaveLength(1);
  await blobs.parts.abortStale({ beforeMs: Date.now() - 60_000 });
  expect(await unfinished()).toHaveLength(1);
  expect(await blobs.parts.abortStale({ beforeMs: Date.now() + 60_000 })).toBe(1);
  expect(await unfinished()).toEqual([]);
});

test('[BL10] also of an upload whose parts it was removing', async () => {
  const left = join(directory, '.unfinished', 'nameless');
  await mkdir(left, { recursive: true });
  await writeFile(join(left, '2'), 'the last part');
  expect(await open().parts.abortStale({ beforeMs: Date.now() - 60_000 })).toBe(0);
  expect(await open().parts.abortStale({ beforeMs: Date.now() + 60_000 })).toBe(1);
  expect(await unfinished()).toEqual([]);
});

describe('[BL20] an upload that is being removed', () => {
  /** Of one part, with so much else in its folder that to remove it takes a while. */
  const begun = async () => {
    const { parts } = open();
    const upload = await parts.start(aKey());
    const part = await parts.put(upload, 1, { body: bytesOf(10) });
    const folder = join(directory, '.unfinished', upload.uploadId);
    await Promise.all(Array.from({ length: 200 }, (_, n) => writeFile(join(folder, `aside-${n}`), '')));
    return { upload, folder, complete: () => parts.complete(upload, [part], { bytesMax: 10 }), abort: () => parts.abort(upload) };
  };

  test.each(['complete', 'abort'] as const)(
    'is whole or gone at every moment, as a worker that ends then leaves it: %s',
    async (how) => {
      const { folder, [how]: remove } = await begun();
      let isRemoved = false;
      const removed = remove().finally(() => {
        isRemoved = true;
      });
      while (!isRemoved) {
        const names = existsSync(folder) ? readdirSync(folder) : [];
        if (existsSync(folder)) expect(names).toEqual(expect.arrayContaining(['1', 'key']));
        await new Promise((resolve) => setImmediate(resolve));
      }
      await removed;
      expect(await unfinished()).toEqual([]);
    },
  );

  test('is not taken for one that lacks parts by those who complete it at the same time', async () => {
    const { complete } = await begun();
    const outcomes = await Promise.all(Array.from({ length: 8 }, () => complete().catch(({ code }: { code: string }) => code)));
    for (const outcome of outcomes) expect([{ size: 10 }, 'RESOURCE_NOT_FOUND']).toContainEqual(outcome);
    expect(outcomes).toContainEqual({ size: 10 });
    expect(await unfinished()).toEqual([]);
  });
});

test.each([
  '',
  '/',
  '/etc/passwd',
  '..',
  '../x',
  'a/../b',
  'a//b',
  'a/',
  '.',
  './a',
  'a/.hidden',
  '.unfinished/x',
  'a b',
  'a\\b',
  'a\0b',
  'é',
  'x'.repeat(201),
  `${'x/'.repeat(256)}x`,
])('[BL3] a key that could leave the directory is refused: %j', async (key) => {
  await expect(open().put(key, new Uint8Array())).rejects.toThrow('not a blob key');
  await expect(open().get(key)).rejects.toThrow('not a blob key');
});

test.each(['a', 'v1/snapshots/12/3-40-0f', 'files/fl_A-z.9', 'x'.repeat(200), `${'x/'.repeat(255)}x`])(
  '[BL3] and one of ours is not: %j',
  async (key) => {
    await expect(open().get(key)).resolves.toBeNull();
  },
);

async function signedUrl(): Promise<URL> {
  const terms = { validMs: 60_000, fileName: 'Résumé & co.pdf', mimeType: 'application/pdf' };
  return new URL(await open().presign('files/fl_1', terms));
}

function granted(url: URL, { nowMs = clock.nowMs(), keys = [secret] as Keyring } = {}): BlobGrant | null {
  return grantOf({ path: url.pathname, query: url.search.slice(1) }, { nowMs, secrets: keys });
}

test('[BL4] a signed URL grants what it was made for, until it expires', async () => {
  const url = await signedUrl();
  expect(url.origin).toBe('https://rooms.example');
  const expiresAtMs = clock.nowMs() + 60_000;
  const grant = { key: 'files/fl_1', expiresAtMs, fileName: 'Résumé & co.pdf', mimeType: 'application/pdf' };
  expect(granted(url, { nowMs: expiresAtMs - 1 })).toEqual(grant);
  expect(granted(url, { nowMs: expiresAtMs })).toBeNull();
});

test.each<[string, (url: URL) => unknown]>([
  ['another blob', (url) => Object.assign(url, { pathname: '/blobs/files/fl_2' })],
  ['no key', (url) => Object.assign(url, { pathname: '/blobs/../fl_1' })],
  ['a later end', ({ searchParams }) => searchParams.set('expires', String(Number(searchParams.get('expires')) + 1))],
  ['another name', ({ searchParams }) => searchParams.set('name', 'x.html')],
  ['another type', ({ searchParams }) => searchParams.set('type', 'text/html')],
  ['no type', ({ searchParams }) => searchParams.delete('type')],
  ['no signature', ({ searchParams }) => searchParams.delete('signature')],
  ['half a signature', ({ searchParams }) => searchParams.set('signature', searchParams.get('signature')!.slice(0, 20))],
  ['an odd signature', ({ searchParams }) => searchParams.set('signature', `é${searchParams.get('signature')!.slice(1)}`)],
])('[BL4] a changed one grants nothing: %s', async (_, change) => {
  const url = await signedUrl();
  expect(granted(url)).not.toBeNull();
  change(url);
  expect(granted(url)).toBeNull();
});

test('[BL4] nor does one signed with another secret', async () => {
  expect(granted(await signedUrl(), { keys: [new Uint8Array(32)] })).toBeNull();
  expect(granted(await signedUrl(), { keys: [new Uint8Array(32), secret] })).not.toBeNull(); // while keys are changed
});
