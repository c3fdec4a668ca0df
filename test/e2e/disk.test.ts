/** A whole server whose large snapshots and files are in DATA_DIR, while its disk is fine, at fault, and well again. */
import { mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, test } from 'vitest';
import { at, contractOf, refusal } from '../support/e2e/contract.ts';
import { aFileId, fileAt } from '../support/e2e/files.ts';
import { quietPorts } from '../support/e2e/free-port.ts';
import { dial } from '../support/e2e/raw-client.ts';
import type { Answer } from '../support/e2e/rest.ts';
import { aServer, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';

/** Clusters have S3. */
const isRunnable = !isExternal && process.env.E2E_CLUSTER === undefined;

describe.skipIf(!isRunnable)('blobs in DATA_DIR', async () => {
  if (!isRunnable) return;
  const DATA_DIR = await mkdtemp(join(tmpdir(), 'atrium-disk-'));
  const admin = String(await quietPorts(1));
  const server = await aServer({ DATA_DIR, ADMIN_PORT: admin, SNAPSHOT_AFTER_CHANGES: '10' });
  const { call, aRoom } = contractOf(server);
  const folder = join(DATA_DIR, 'blobs');
  const away = join(DATA_DIR, 'away');
  afterAll(() => rm(DATA_DIR, { recursive: true, force: true }));

  /** A file where the folder was. */
  const breakDisk = async (): Promise<void> => {
    await rename(folder, away);
    await writeFile(folder, '');
  };
  const mendDisk = async (): Promise<void> => {
    if (!(await readdir(DATA_DIR)).includes('away')) return;
    await rm(folder);
    await rename(away, folder);
  };
  afterEach(mendDisk);

  const set = async (roomId: string, mark: string): Promise<number> =>
    (await call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'replace', path: '/mark', value: mark }] })).status;
  const change = async (roomId: string, times: number): Promise<void> => {
    for (let time = 0; time < times; time++) expect(await set(roomId, `change ${time}`)).toBe(200);
  };
  const read = (roomId: string) => call(`GET ${at(roomId)}/storage?format=json`);
  /** Of 400 KB, which no snapshot holds inline. */
  const aLargeRoom = async (): Promise<string> => {
    const roomId = await aRoom();
    const data = { liveblocksType: 'LiveObject', data: { mark: 'a', filler: 'a'.repeat(400_000) } };
    expect((await call(`POST ${at(roomId)}/storage`, { json: data })).status).toBe(200);
    return roomId;
  };
  const snapshots = async (): Promise<number> => {
    const names = await readdir(join(folder, 'v1', 'snapshots'), { recursive: true }).catch(() => []);
    return names.filter((name) => name.includes('/')).length;
  };
  const failedSnapshots = async (): Promise<number> => {
    const metrics = await (await fetch(`http://127.0.0.1:${admin}/metrics`)).text();
    return Number(/^atrium_snapshots_total\{outcome="failed"\} (\d+)$/m.exec(metrics)![1]);
  };
  const expectUnavailable = (answer: Answer): void => {
    expect(refusal(answer)).toMatch(/^503 BLOBS_UNAVAILABLE /);
    expect(answer.headers.get('retry-after')).toBe('1');
  };

  test('[BL18] a room that is only on the disk says so with 503, and with 1012 to sockets, and opens when it is well again', async () => {
    const roomId = await aLargeRoom();
    const before = await snapshots();
    await until('two snapshots are on the disk', async () => {
      await change(roomId, 5);
      return (await snapshots()) >= before + 2;
    });
    await set(roomId, 'last');
    await server.restart();
    await breakDisk();
    expectUnavailable(await read(roomId));
    const client = await dial(server, { roomId, userId: 'alice' });
    expect((await client.closed).code).toBe(1012);
    await mendDisk();
    expect((await read(roomId)).json.mark).toBe('last');
  });

  test('[BL18] an open room takes writes as ever, and is saved when the disk is well again', async () => {
    const roomId = await aLargeRoom();
    await breakDisk();
    const failures = await failedSnapshots();
    await until('it could not be saved', async () => {
      await change(roomId, 5);
      return (await failedSnapshots()) > failures;
    });
    await change(roomId, 5);
    await mendDisk();
    const before = await snapshots();
    await until('it is saved', async () => (await set(roomId, 'after')) === 200 && (await snapshots()) > before);
    await server.restart();
    expect((await read(roomId)).json.mark).toBe('after');
  });

  test('[BL18] a version is refused with 503, and made once, under the same key, later', async () => {
    const roomId = await aLargeRoom();
    const create = () => call(`POST ${at(roomId)}/versions`, { key: `version of ${roomId}` });
    await breakDisk();
    expectUnavailable(await create());
    await mendDisk();
    const { id } = (await create()).json.data;
    expect((await create()).json.data.id).toBe(id);
    await breakDisk();
    expectUnavailable(await call(`GET /c${at(roomId)}/versions/${id}/storage`));
  });

  test('[BL18] uploads and downloads are refused with 503, and go on where they were', async () => {
    const roomId = await aRoom();
    const [whole, inParts] = [aFileId(), aFileId()];
    const contentType = 'application/octet-stream';
    const upload = () => call(`PUT ${fileAt(roomId, whole, '/upload/a.txt')}`, { body: 'hello', contentType });
    const begin = () => call(`POST ${fileAt(roomId, inParts, '/multipart/b.txt')}`);
    const { uploadId } = (await begin()).json;
    const put = () => call(`PUT ${fileAt(roomId, inParts, `/multipart/${uploadId}/1`)}`, { body: 'part', contentType });
    const parts = [(await put()).json];
    const complete = () => call(`POST ${fileAt(roomId, inParts, `/multipart/${uploadId}/complete`)}`, { json: { parts } });

    await breakDisk();
    for (const ask of [upload, begin, put, complete]) expectUnavailable(await ask());
    await mendDisk();
    expect((await upload()).json).toEqual({ id: whole, name: 'a.txt', size: 5, mimeType: 'text/plain' });
    expect((await complete()).json).toMatchObject({ id: inParts, size: 4 });

    const { url } = (await call(`GET ${fileAt(roomId, inParts)}`)).json;
    await breakDisk();
    const refused = await fetch(url);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '1']);
    expect(await refused.json()).toMatchObject({ error: 'BLOBS_UNAVAILABLE' });
    await mendDisk();
    expect(await (await fetch(url)).text()).toBe('part');
  });
});
