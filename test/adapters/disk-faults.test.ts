/** Blobs on a disk that fails: what callers hear, and what the log. The faults are such as root meets, too. */
import { mkdir, mkdtemp, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, expect, onTestFinished, test } from 'vitest';
import { Disk } from '../../src/adapters/disk.ts';
import { DiskBlobs } from '../../src/adapters/disk-blobs.ts';
import { DiskParts } from '../../src/adapters/disk-parts.ts';
import { systemRandom } from '../../src/base/clock.ts';
import { AppError } from '../../src/base/errors.ts';
import { type Log, silentLog } from '../../src/base/observe.ts';
import type { BlobBody } from '../../src/kernel/persistence/blobs.ts';
import { aKey, bytesOf, textOf } from '../support/blob-bodies.ts';
import { aFolderElsewhere } from '../support/elsewhere.ts';
import { manualClock } from '../support/manual-clock.ts';

let directory: string;
let said: unknown[];
let blobs: DiskBlobs;
beforeEach(async () => {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-blobs-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  directory = join(folder, 'blobs');
  said = [];
  const log = { ...silentLog, warn: (fields: { reason: string }) => void said.push(fields.reason) } as unknown as Log;
  const options = {
    directory,
    publicUrl: () => '',
    secrets: [new Uint8Array(32)] as const,
    clock: manualClock(),
    random: systemRandom,
  };
  blobs = new DiskBlobs({ ...options, log });
});

const unavailable = (reason: string) => ({ name: 'AppError', code: 'BLOBS_UNAVAILABLE', facts: { reason } });

/** A file where the folder was: every call for something in it fails. */
async function breakDisk(): Promise<void> {
  await rename(directory, `${directory}-away`);
  await writeFile(directory, '');
}

async function* broken(error: Error): AsyncGenerator<Uint8Array> {
  yield bytesOf(1_000);
  throw error;
}

test('[BL17] whatever is asked of a disk that fails is BLOBS_UNAVAILABLE, and in the log once', async () => {
  const key = aKey();
  await blobs.put(key, bytesOf(10));
  const upload = await blobs.parts.start(aKey());
  const part = await blobs.parts.put(upload, 1, { body: bytesOf(10) });
  await breakDisk();
  const { parts } = blobs;
  const requests: (() => Promise<unknown>)[] = [
    () => blobs.put(aKey(), bytesOf(10)),
    () => blobs.get(key),
    () => blobs.read(key),
    () => blobs.head(key),
    () => blobs.delete(key),
    () => parts.start(aKey()),
    () => parts.put(upload, 2, { body: bytesOf(10) }),
    () => parts.complete(upload, [part], { bytesMax: 10 }),
    () => parts.abort(upload),
    () => parts.abortStale({ beforeMs: 0 }),
  ];
  for (const ask of requests) await expect(ask()).rejects.toMatchObject(unavailable('ENOTDIR'));
  expect(said).toEqual(requests.map(() => 'ENOTDIR'));
  await rm(directory);
  await rename(`${directory}-away`, directory);
  await parts.complete(upload, [part], { bytesMax: 10 });
  expect((await blobs.get(upload.key))?.length).toBe(10);
});

test('[BL17] a stream that fails is, too: what cannot be opened before its first piece is asked for, what cannot be read there', async () => {
  const folder = join(directory, 'v1');
  await mkdir(join(folder, 'directory'), { recursive: true });
  const found = await blobs.read('v1/directory');
  await expect(textOf(found!.body)).rejects.toMatchObject(unavailable('EISDIR'));
  const socket = createServer().listen(join(folder, 'socket'));
  onTestFinished(() => void socket.close());
  await new Promise((resolve) => socket.once('listening', resolve));
  await expect(blobs.read('v1/socket')).rejects.toMatchObject(unavailable('ENXIO'));
  expect(said).toEqual(['EISDIR', 'ENXIO']);
});

test('[BL17] a file that vanishes under a put is, too, and one in the way of it', async () => {
  async function* vanishing(): AsyncGenerator<Uint8Array> {
    yield bytesOf(1_000);
    await rm(join(directory, '.unfinished'), { recursive: true });
  }
  await expect(blobs.put(aKey(), vanishing())).rejects.toMatchObject(unavailable('ENOENT'));
  await blobs.put('v1/file', bytesOf(1));
  await expect(blobs.put('v1/file/below', bytesOf(1))).rejects.toMatchObject(unavailable('EEXIST'));
});

test('[BL17] what is missing, no key, or broken by its sender is told as ever', async () => {
  const gone = Object.assign(new Error('aborted'), { code: 'ECONNRESET' });
  await expect(blobs.put(aKey(), broken(gone))).rejects.toBe(gone);
  const refusal = new AppError('PAYLOAD_TOO_LARGE', { bytesMax: 1 });
  await expect(blobs.put(aKey(), broken(refusal))).rejects.toBe(refusal);
  const upload = await blobs.parts.start(aKey());
  await expect(blobs.parts.put(upload, 1, { body: broken(gone) })).rejects.toBe(gone);
  await expect(blobs.get('../x')).rejects.toThrow('not a blob key');
  expect(await blobs.get(aKey())).toBeNull();
  const never = { key: aKey(), uploadId: 'never' };
  await expect(blobs.parts.put(never, 1, { body: bytesOf(1) })).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
  expect(said).toEqual([]);
});

test('[BL17] so is a part that somebody else takes away while the parts become a blob', async () => {
  const unfinished = join(directory, '.unfinished');
  const put = async (key: string, body: BlobBody) => {
    await rm(join(unfinished, upload.uploadId), { recursive: true });
    return blobs.put(key, body);
  };
  const parts = new DiskParts({ directory: unfinished, random: systemRandom, disk: new Disk(silentLog), put });
  const upload = await parts.start(aKey());
  const part = await parts.put(upload, 1, { body: bytesOf(10) });
  await expect(parts.complete(upload, [part], { bytesMax: 10 })).rejects.toMatchObject({ code: 'RESOURCE_NOT_FOUND' });
  expect(said).toEqual([]);
});

test('[BL17] a file system without hard links is, too', async ({ skip }) => {
  const elsewhere = (await aFolderElsewhere()) ?? skip('no second file system');
  await mkdir(directory);
  await symlink(elsewhere, join(directory, '.unfinished'));
  await expect(blobs.put(aKey(), bytesOf(10))).rejects.toMatchObject(unavailable('EXDEV'));
});
