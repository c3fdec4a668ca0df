import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DiskBlobs, verifyBlobUrl } from '../../src/adapters/disk-blobs.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { manualClock } from '../support/manual-clock.ts';
import { blobsContract } from './blobs.contract.ts';

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'atrium-blobs-'));
});
afterAll(() => rm(directory, { recursive: true }));

const secret = new Uint8Array(32).fill(7);
const clock = manualClock();
const open = (): DiskBlobs =>
  new DiskBlobs({ directory, publicUrl: () => 'https://rooms.example', secret, clock, random: systemRandom });

blobsContract('disk', async () => open());

test('[BL1] nothing unfinished stays on the disk', async () => {
  const names = await readdir(directory, { recursive: true });
  expect(names.length).toBeGreaterThan(0);
  expect(names.filter((name) => name.endsWith('.part'))).toEqual([]);
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
  'a b',
  'a\\b',
  'a\0b',
  'é',
  'x'.repeat(201),
  `${'x/'.repeat(256)}x`,
])('[BL3] a key that could leave the directory is refused: %j', async (key) => {
  const blobs = open();
  const options = { validMs: 1_000, fileName: 'a', mimeType: 'text/plain' };
  for (const attempt of [
    blobs.put(key, new Uint8Array()),
    blobs.get(key),
    blobs.delete(key),
    blobs.open(key),
    blobs.presign(key, options),
  ]) {
    await expect(attempt).rejects.toThrow('not a blob key');
  }
});

test.each(['a', 'v1/snapshots/12/3-40-0f', 'files/fl_A-z.9', 'x'.repeat(200), `${'x/'.repeat(255)}x`])(
  '[BL3] and one of ours is not: %j',
  async (key) => {
    await expect(open().get(key)).resolves.toBeNull();
  },
);

async function signedUrl(): Promise<{ key: string; query: URLSearchParams }> {
  const url = new URL(
    await open().presign('files/fl_1', { validMs: 60_000, fileName: 'Résumé & co.pdf', mimeType: 'application/pdf' }),
  );
  expect(url.origin).toBe('https://rooms.example');
  return { key: url.pathname.replace(/^\/blobs\//, ''), query: url.searchParams };
}

test('[BL4] a signed URL grants what it was made for, until it expires', async () => {
  const { key, query } = await signedUrl();
  const expiresAtMs = clock.nowMs() + 60_000;
  const grant = { key: 'files/fl_1', expiresAtMs, fileName: 'Résumé & co.pdf', mimeType: 'application/pdf' };
  expect(verifyBlobUrl({ key, query, secret, nowMs: expiresAtMs - 1 })).toEqual(grant);
  expect(verifyBlobUrl({ key, query, secret, nowMs: expiresAtMs })).toBeNull();
});

test.each<[string, (url: { key: string; query: URLSearchParams }) => unknown]>([
  ['another blob', (url) => Object.assign(url, { key: 'files/fl_2' })],
  ['a later end', ({ query }) => query.set('expires', String(Number(query.get('expires')) + 1))],
  ['another name', ({ query }) => query.set('name', 'x.html')],
  ['another type', ({ query }) => query.set('type', 'text/html')],
  ['no type', ({ query }) => query.delete('type')],
  ['no signature', ({ query }) => query.delete('signature')],
  ['half a signature', ({ query }) => query.set('signature', query.get('signature')!.slice(0, 20))],
  ['an odd signature', ({ query }) => query.set('signature', `é${query.get('signature')!.slice(1)}`)],
])('[BL4] a changed one grants nothing: %s', async (_, change) => {
  const url = await signedUrl();
  expect(verifyBlobUrl({ ...url, secret, nowMs: clock.nowMs() })).not.toBeNull();
  change(url);
  expect(verifyBlobUrl({ ...url, secret, nowMs: clock.nowMs() })).toBeNull();
});

test('[BL4] nor does one signed with another secret', async () => {
  expect(verifyBlobUrl({ ...(await signedUrl()), secret: new Uint8Array(32), nowMs: clock.nowMs() })).toBeNull();
});

test('[BL5] a blob can be served whole or in part', async () => {
  const blobs = open();
  await blobs.put('served', new TextEncoder().encode('0123456789'));
  const reader = await blobs.open('served');
  const read = async (range?: { start: number; end: number }): Promise<string> => {
    const parts: Uint8Array[] = [];
    for await (const part of reader!.stream(range)) parts.push(part);
    return Buffer.concat(parts).toString();
  };
  expect(reader!.size).toBe(10);
  expect([await read(), await read({ start: 2, end: 4 }), await read({ start: 9, end: 9 })]).toEqual(['0123456789', '234', '9']);
  expect(await blobs.open('not/there')).toBeNull();
});
