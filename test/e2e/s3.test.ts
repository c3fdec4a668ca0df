/** A whole server whose large snapshots are in S3, while S3 is fine, gone, at fault, and back (reliability F28–F31). */
import { DeleteObjectCommand, ListObjectsV2Command, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { afterEach, describe, expect, test } from 'vitest';
import { at, contractOf, refusal } from '../support/e2e/contract.ts';
import { aServer, isExternal } from '../support/e2e/server.ts';
import { until } from '../support/e2e/until.ts';
import { useS3 } from '../support/s3.ts';

const s3 = await useS3();
const isRunnable = s3.canBreak && !isExternal;

describe.skipIf(!isRunnable)('rooms with large snapshots', async () => {
  if (!isRunnable) return;
  const Bucket = s3.newBucket();
  const server = await aServer({
    ...s3.settings(Bucket),
    SNAPSHOT_AFTER_CHANGES: '10',
    IDLE_ROOM_SECONDS: '10',
  });
  const { call, aRoom } = contractOf(server);
  const direct = new S3Client({ endpoint: s3.endpoint, region: 'us-east-1', forcePathStyle: true });
  afterEach(() => s3.way.start());

  /** Fills 400 KB, which no snapshot holds inline. */
  const fill = async (roomId: string, mark: string): Promise<number> => {
    const data = { liveblocksType: 'LiveObject', data: { mark, filler: mark.repeat(400_000) } };
    return (await call(`POST ${at(roomId)}/storage`, { json: data })).status;
  };
  const set = async (roomId: string, mark: string): Promise<number> =>
    (await call(`PATCH ${at(roomId)}/storage/json-patch`, { json: [{ op: 'replace', path: '/mark', value: mark }] })).status;
  const change = async (roomId: string, times: number): Promise<void> => {
    for (let time = 0; time < times; time++) expect(await set(roomId, `change ${time}`)).toBe(200);
  };
  const read = (roomId: string) => call(`GET ${at(roomId)}/storage?format=json`);
  const objects = async (): Promise<string[]> => {
    const { Contents = [] } = await direct.send(new ListObjectsV2Command({ Bucket }));
    return Contents.sort((left, right) => left.LastModified!.getTime() - right.LastModified!.getTime()).map(({ Key }) => Key!);
  };
  /** Only its snapshots, and what came after the older of two, are left of the room: both are in the bucket. */
  const aRoomInTheBucket = async (): Promise<string> => {
    const roomId = await aRoom();
    const before = (await objects()).length;
    await fill(roomId, 'a');
    await until('two snapshots are in the bucket', async () => {
      await change(roomId, 5);
      return (await objects()).length >= before + 2;
    });
    await set(roomId, 'last');
    return roomId;
  };

  test('[SN15] a large room is read back from the bucket after a restart', async () => {
    const roomId = await aRoomInTheBucket();
    await server.restart();
    expect((await read(roomId)).json.mark).toBe('last');
  });

  test('[SN15] while S3 is gone or silent, open rooms take writes as ever, and small ones open', async () => {
    const roomId = await aRoomInTheBucket();
    const small = await aRoom();
    await call(`POST ${at(small)}/storage`, { json: { liveblocksType: 'LiveObject', data: { mark: 'small' } } });
    await s3.way.stop();
    await change(roomId, 25);
    await s3.way.start();
    s3.way.freeze();
    await change(roomId, 25);
    const other = await aRoom();
    expect(await fill(other, 'b')).toBe(200);
    expect((await read(small)).json.mark).toBe('small');
    await s3.way.start();
    await server.restart();
    expect([(await read(roomId)).json.mark, (await read(other)).json.mark]).toEqual(['change 24', 'b']);
  });

  test('[SN15] a room that is only in the bucket says so with 503 while S3 is gone, and opens when it is back', async () => {
    const roomId = await aRoomInTheBucket();
    await server.restart();
    await s3.way.stop();
    const answer = await read(roomId);
    expect(refusal(answer)).toMatch(/^503 BLOBS_UNAVAILABLE /);
    expect(answer.headers.get('retry-after')).toBe('1');
    await s3.way.start();
    expect((await read(roomId)).json.mark).toBe('last');
  });

  test('[E2E-V13] a version of a large room is refused while S3 is gone, and made once, under the same key, when it is back', async () => {
    const roomId = await aRoom();
    await fill(roomId, 'v');
    const create = () => call(`POST ${at(roomId)}/versions`, { key: `version of ${roomId}` });
    const count = async () => (await call(`GET ${at(roomId)}/versions`)).json.data.length;
    await s3.way.stop();
    expect(refusal(await create())).toMatch(/^503 BLOBS_UNAVAILABLE /);
    expect(await count()).toBe(0);
    await s3.way.start();
    const { id } = (await create()).json.data;
    expect((await create()).json.data.id).toBe(id);
    expect(await count()).toBe(1);
    await call(`DELETE ${at(roomId)}/storage`);
    const { text } = await call(`GET /c${at(roomId)}/versions/${id}/storage`);
    expect(JSON.parse(text)).toEqual(['root', { type: 0, data: { mark: 'v', filler: 'v'.repeat(400_000) } }]);
  });

  test('[SN15] a server starts while S3 is gone', async () => {
    const roomId = await aRoom();
    await fill(roomId, 'c');
    await s3.way.stop();
    await server.restart();
    expect((await read(roomId)).json.mark).toBe('c'); // its journal is whole
    expect(await set(roomId, 'without')).toBe(200);
  });

  test.each(['overwritten', 'deleted'])('[SN15] of two snapshots the newest may be %s', async (what) => {
    const before = new Set(await objects());
    const roomId = await aRoomInTheBucket();
    await server.restart();
    const Key = (await objects()).filter((key) => !before.has(key)).at(-1)!;
    await direct.send(new DeleteObjectCommand({ Bucket, Key }));
    if (what === 'overwritten') await direct.send(new PutObjectCommand({ Bucket, Key, Body: Buffer.alloc(400_000) }));
    expect((await read(roomId)).json.mark).toBe('last');
  });

  test('[SN15] answers of 500 and 503, cut and changed bodies cost time, never an acknowledged change', async () => {
    const roomIds = await Promise.all(Array.from({ length: 12 }, () => aRoom()));
    const faults = [
      { kind: 'status', status: 500 },
      { kind: 'cut', afterBytes: 1_000 },
      { kind: 'flip', body: 'request' },
      { kind: 'lost' },
      { kind: 'flip', body: 'answer' },
      { kind: 'status', status: 503 },
    ] as const;
    let met = 0;
    s3.way.fault = () => (s3.way.asked.length % 2 === 0 ? faults[met++ % faults.length]! : null);
    for (const roomId of roomIds) {
      await fill(roomId, 'd');
      await change(roomId, 25);
    }
    const allMet = async (): Promise<boolean> => {
      for (const roomId of roomIds) await set(roomId, 'change 24');
      return met >= 2 * faults.length;
    };
    await until('each fault was met twice', allMet, { timeoutMs: 60_000 });
    await s3.way.start();
    await server.restart();
    for (const roomId of roomIds) {
      const { mark, filler } = (await read(roomId)).json;
      expect([mark, filler.length]).toEqual(['change 24', 400_000]);
    }
  }, 90_000);
});
