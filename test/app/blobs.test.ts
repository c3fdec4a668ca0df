/** Whether a server starts with the bucket, or the folder, that its settings name. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { checkDisk } from '../../src/adapters/disk-start.ts';
import { S3Bucket } from '../../src/adapters/s3-bucket.ts';
import { checkBucket } from '../../src/adapters/s3-start.ts';
import { type OpenedBlobs, openBlobs } from '../../src/app/blobs.ts';
import { type Log, silentLog } from '../../src/base/observe.ts';
import { readSettings } from '../../src/config.ts';
import type { Sql } from '../../src/kernel/persistence/sql.ts';
import { bytesOf } from '../support/blob-bodies.ts';
import { aFolderElsewhere } from '../support/elsewhere.ts';
import { usePostgres } from '../support/postgres.ts';
import { useS3 } from '../support/s3.ts';

const run = promisify(execFile);
const postgres = usePostgres();
const s3 = await useS3();
let db: Sql;
let dataDir: string;
beforeAll(async () => {
  db = await postgres.open();
  dataDir = await mkdtemp(join(tmpdir(), 'atrium-blobs-'));
});
afterAll(() => rm(dataDir, { recursive: true }));

async function open(settings: Record<string, string>): Promise<OpenedBlobs> {
  const all = readSettings({ DATA_DIR: dataDir, ...settings });
  const opened = await openBlobs(all, { db, log: silentLog, publicUrl: () => 'http://here', secrets: [new Uint8Array(32)] });
  onTestFinished(() => opened.close());
  return opened;
}

const terms = { validMs: 60_000, fileName: 'a', mimeType: 'text/plain' };

test('[BL13] without a bucket blobs are in DATA_DIR, and this server answers their URLs', async () => {
  const { blobs, serve } = await open({});
  await blobs.put('v1/a', bytesOf(10));
  expect((await blobs.presign('v1/a', terms)).startsWith('http://here/blobs/v1/a?')).toBe(true);
  const http = serve(async () => ({ status: 418 }));
  const ask = async (path: string): Promise<number> =>
    (await http({ method: 'GET', path, query: '', headers: {} } as never)).status;
  expect([await ask('/blobs/v1/a'), await ask('/v2/rooms')]).toEqual([403, 418]);
});

/** What the refusal to start in this folder says. */
async function refusalIn(DATA_DIR: string): Promise<string> {
  const error = await open({ DATA_DIR }).then(
    () => expect.fail('it started'),
    (refused: Error) => refused,
  );
  expect(error.name).toBe('StartRefused');
  return error.message;
}

test('[BL13] what is tried out in DATA_DIR at the start leaves nothing there', async () => {
  const DATA_DIR = await mkdtemp(join(dataDir, 'tried-'));
  await open({ DATA_DIR });
  expect(await readdir(DATA_DIR, { recursive: true })).toEqual(['blobs', 'blobs/.unfinished']);
});

test('[BL13] a DATA_DIR in which nothing can be made refuses to start', async () => {
  const DATA_DIR = join(dataDir, 'file');
  await writeFile(DATA_DIR, '');
  const sentence = await refusalIn(DATA_DIR);
  expect(sentence).toMatch(/^DATA_DIR cannot hold files and large snapshots \(ENOTDIR: .*'\): name a folder .*S3_BUCKET\.$/);
  expect(sentence).toContain(DATA_DIR);
});

test('[BL13] so does one that has no hard links', async ({ skip }) => {
  const elsewhere = (await aFolderElsewhere()) ?? skip('no second file system');
  const DATA_DIR = await mkdtemp(join(dataDir, 'links-'));
  await mkdir(join(DATA_DIR, 'blobs'));
  await symlink(elsewhere, join(DATA_DIR, 'blobs', '.unfinished'));
  expect(await refusalIn(DATA_DIR)).toMatch(/\(EXDEV: .*, link '.* on a file system that has hard links/);
  expect(await readdir(elsewhere)).toEqual([]);
});

test('[BL13] so does one that is read-only', async ({ skip }) => {
  const DATA_DIR = await mkdtemp(join(dataDir, 'read-only-'));
  await run('mount', ['-t', 'tmpfs', '-o', 'ro', 'none', DATA_DIR]).catch(() => skip('only root may mount'));
  onTestFinished(async () => void (await run('umount', [DATA_DIR])));
  expect(await refusalIn(DATA_DIR)).toMatch(/\(EROFS: read-only file system, mkdir/);
});

test('[BL13] a disk that is full does not, and that is said', async () => {
  const warnings: unknown[] = [];
  const log = { ...silentLog, warn: (fields: { reason: string }) => void warnings.push(fields.reason) } as unknown as Log;
  await checkDisk({ blobs: { tryOut: () => writeFile('/dev/full', 'x') }, log });
  expect(warnings).toEqual(['ENOSPC']);
});

test.each(['S3_ENDPOINT', 'S3_PUBLIC_ENDPOINT'])('[BL13] an address that is none refuses to start: %s', (name) => {
  expect(() => readSettings({ [name]: 'minio:9000' })).toThrow(name);
});

describe.skipIf(!s3.isThere)('with S3', () => {
  test('[BL13] a bucket that is missing refuses to start, or is made where that is wanted, by whoever comes first', async () => {
    const settings = s3.settings(s3.newBucket());
    await expect(open({ ...settings, S3_CREATE_BUCKET: 'false' })).rejects.toMatchObject({
      name: 'StartRefused',
      message: expect.stringMatching(/^The bucket .* of S3_BUCKET does not exist at http.*S3_CREATE_BUCKET/),
    });
    const [one, other] = await Promise.all([open(settings), open(settings)]);
    await one.blobs.put('v1/a', bytesOf(10));
    expect((await other.blobs.get('v1/a'))?.length).toBe(10);
    expect((await open({ ...settings, S3_CREATE_BUCKET: 'false' })).blobs).toBeDefined();
    const others = async () => ({ status: 418 });
    expect(one.serve(others)).toBe(others);
  });

  test.each([
    ['wrong credentials', { AWS_SECRET_ACCESS_KEY: 'wrong' }, /refuses our credentials/],
    [
      'no credentials',
      { AWS_ACCESS_KEY_ID: undefined, AWS_SECRET_ACCESS_KEY: undefined },
      /set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY/,
    ],
  ])('[BL13] %s refuse to start', async (_, environment, sentence) => {
    const before = { ...process.env };
    onTestFinished(() => void Object.assign(process.env, before));
    process.env.AWS_EC2_METADATA_DISABLED = 'true';
    for (const [name, value] of Object.entries(environment)) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
    const { S3_BUCKET = '', S3_ENDPOINT = '' } = s3.settings(s3.newBucket());
    const refused = open({ S3_BUCKET, S3_ENDPOINT, S3_FORCE_PATH_STYLE: 'true' });
    await expect(refused).rejects.toMatchObject({ name: 'StartRefused', message: expect.stringMatching(sentence) });
  });
});

describe.skipIf(!s3.canBreak)('while S3 is away', () => {
  const check = async (patienceMs: number): Promise<string[]> => {
    const said: string[] = [];
    const log = { ...silentLog, warn: (_: unknown, text: string) => void said.push(text) } as unknown as Log;
    const options = { endpoint: s3.endpoint, region: 'us-east-1', log };
    const bucket = new S3Bucket({ ...options, bucket: s3.newBucket(), forcePathStyle: true });
    onTestFinished(() => bucket.close());
    await checkBucket({ ...options, bucket, missing: 'create', patienceMs });
    return said;
  };

  test('[BL13] a server starts all the same, and says so', async () => {
    await s3.way.stop();
    expect(await check(600)).toEqual([expect.stringContaining('S3 does not answer')]);
    await s3.way.start();
    s3.way.fault = () => ({ kind: 'status', status: 503 });
    expect(await check(600)).toEqual([expect.stringContaining('S3 does not answer')]);
    await s3.way.start();
  });

  test('[BL13] one that comes back in time is waited for', async () => {
    const refusedUntil = s3.way.asked.length + 4;
    s3.way.fault = () => (s3.way.asked.length > refusedUntil ? null : { kind: 'status', status: 503 });
    expect(await check(60_000)).toEqual([]);
    await s3.way.start();
  });
});
