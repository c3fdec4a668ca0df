/**
 * How much a server grows while a large file passes through it, by parts as the SDK sends them, and back. 200 MB here; by hand
 * `UPLOAD_MEGABYTES=1000 npx vitest run --project all test/features/files/memory.test.ts` shows 1 GB.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { bytesOf, MIB } from '../../support/blob-bodies.ts';
import { compiled } from '../../support/compiled.ts';
import { aFileId, fileAt } from '../../support/e2e/files.ts';
import { freePort } from '../../support/e2e/free-port.ts';
import { until } from '../../support/e2e/until.ts';
import { usePostgres } from '../../support/postgres.ts';
import { useS3 } from '../../support/s3.ts';

const MEGABYTES = Number(process.env.UPLOAD_MEGABYTES ?? 200);
const GROWN_MIB_MAX = 64;
const PART_BYTES = 5 * MIB;
/** As many as the SDK has under way. */
const PARTS_AT_ONCE = 5;
const TEST_MS_MAX = 120_000 + MEGABYTES * 300;
const SECRET_KEY = `sk_${'a'.repeat(24)}`;
const headers = { authorization: `Bearer ${SECRET_KEY}` };

const postgres = usePostgres();
const s3 = await useS3();
const part = Buffer.from(bytesOf(PART_BYTES));

async function startServer(settings: Record<string, string>): Promise<{ child: ChildProcess; url: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'atrium-memory-'));
  const port = await freePort();
  const { PATH = '', HOME = '' } = process.env;
  const child = spawn(process.execPath, [await compiled('src/main.ts')], {
    env: {
      PATH,
      HOME,
      HOST: '127.0.0.1',
      PORT: String(port),
      DATA_DIR: folder,
      DATABASE_URL: await postgres.database(),
      SECRET_KEY,
      LOG_LEVEL: 'warn',
      ...settings,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
    await rm(folder, { recursive: true, force: true });
  });
  const url = `http://127.0.0.1:${port}`;
  await until('the server is healthy', async () => (await fetch(`${url}/health`)).status === 200, { timeoutMs: 30_000 });
  return { child, url };
}

const memoryOf = async ({ pid }: ChildProcess, field: 'VmRSS' | 'VmHWM'): Promise<number> => {
  const found = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(await readFile(`/proc/${pid}/status`, 'utf8'));
  return Number(found![1]) / 1024;
};
/** The highest so far is forgotten. */
const forgetPeak = ({ pid }: ChildProcess): Promise<void> => writeFile(`/proc/${pid}/clear_refs`, '5');

const put = async (url: string): Promise<{ partNumber: number; etag: string }> => {
  const answer = await fetch(url, {
    method: 'PUT',
    headers: { ...headers, 'content-type': 'application/octet-stream' },
    body: part,
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as { partNumber: number; etag: string };
};

/** Uploads so many full parts, and downloads what became of them. */
async function throughAndBack(base: string, count: number): Promise<void> {
  const at = `${base}/v2${fileAt('room', aFileId())}`;
  const begun = await fetch(`${at}/multipart/film.mp4?fileSize=${count * PART_BYTES}`, { method: 'POST', headers });
  const { uploadId } = (await begun.json()) as { uploadId: string };
  const parts: unknown[] = [];
  for (let first = 1; first <= count; first += PARTS_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(PARTS_AT_ONCE, count - first + 1) }, (_, index) => first + index);
    parts.push(...(await Promise.all(numbers.map((number) => put(`${at}/multipart/${uploadId}/${number}`)))));
  }
  const completed = await fetch(`${at}/multipart/${uploadId}/complete`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({ parts }),
  });
  expect(await completed.json()).toMatchObject({ size: count * PART_BYTES });
  const { url } = (await (await fetch(at, { headers })).json()) as { url: string };
  const [came, sent] = [createHash('sha256'), createHash('sha256')];
  for await (const piece of (await fetch(url)).body!) came.update(piece);
  for (let number = 0; number < count; number++) sent.update(part);
  expect(came.digest('hex')).toBe(sent.digest('hex'));
}

const stores: [string, boolean, () => Record<string, string>][] = [
  ['on disk', true, () => ({})],
  ['in S3', s3.isThere, () => s3.settings(s3.newBucket())],
];

describe.skipIf(process.platform !== 'linux')('a large file', () => {
  for (const [store, isThere, settings] of stores) {
    test.skipIf(!isThere)(
      `[FI23] of ${MEGABYTES} MB, by parts, makes the server grow by ${GROWN_MIB_MAX} MiB at most: ${store}`,
      async () => {
        const { child, url } = await startServer(settings());
        const room = { id: 'room', defaultAccesses: [] };
        await fetch(`${url}/v2/rooms`, {
          method: 'POST',
          headers: { ...headers, 'content-type': 'application/json' },
          body: JSON.stringify(room),
        });
        await throughAndBack(url, 3); // what any upload needs: code, connections
        await forgetPeak(child);
        const before = await memoryOf(child, 'VmRSS');
        const startedMs = performance.now();
        await throughAndBack(url, Math.ceil((MEGABYTES * MIB) / PART_BYTES));
        const grown = (await memoryOf(child, 'VmHWM')) - before;
        const seconds = (performance.now() - startedMs) / 1_000;
        console.log(
          `${store}: ${MEGABYTES} MB up and down in ${seconds.toFixed(1)} s, RSS ${before.toFixed(0)} + ${grown.toFixed(1)} MiB`,
        );
        expect(grown).toBeLessThanOrEqual(GROWN_MIB_MAX);
      },
      TEST_MS_MAX,
    );
  }
});
